import { createServer } from 'node:http'
import { type Duplex, duplexPair } from 'node:stream'
import type { ResettableStream } from '../../base/io/streams/reset.ts'
import { CompiledEndpoints } from '../compile/endpoints.ts'
import type { ClientConnection } from '../contracts/connection.ts'
import type { EdgeRuntime } from '../contracts/runtime.ts'
import { TlsPolicies } from '../contracts/tls-policy.ts'
import { createDetachedRuntime } from '../detached-runtime.ts'
import { Http1ServerConnection } from '../http/http1-connection.ts'
import { RouteResolver } from '../resolve/route-resolver.ts'
import { IdleBudgets } from '../upstream/tunnel-target.ts'
import { type RecordedRequest, Recorder } from './recorder.ts'
import { createLocalTunnel, TestTunnels } from './tunnels.ts'

const noEdges = {
  named: () => undefined,
  covering: () => undefined,
  atPort: () => undefined,
  routeWith: () => undefined,
}

/** No reservation has an endpoint configuration. */
const noConfigurations = {
  revision: 0,
  find: () => undefined,
  http: () => undefined,
  tcp: () => undefined,
  route: () => undefined,
}

/** The edge without sockets: client bytes go in, upstream bytes come out. */
export class InProcessEdge {
  readonly tunnels = new TestTunnels()
  recorders: Recorder[] = []
  /** Requests the edge parsed and routed. */
  routedRequests = 0
  /** The response of upstreams; undefined for a plain 200. */
  upstreamResponse: string | undefined
  readonly #runtime: EdgeRuntime

  constructor(...hosts: string[]) {
    const runtime = createDetachedRuntime()
    const endpoints = new CompiledEndpoints({
      runtime,
      budgets: new IdleBudgets(),
      tlsPolicies: new TlsPolicies(),
      tunnels: this.tunnels,
      configurations: noConfigurations,
      compileModules: () => ({ connectionSteps: [], steps: undefined, wrapBackend: undefined, tls: {} }),
    })
    const resolver = new RouteResolver({
      platformHosts: new Map(),
      edges: noEdges,
      configurations: noConfigurations,
      tunnels: this.tunnels,
      endpoints,
    })
    const resolve = resolver.http.bind(resolver)
    resolver.http = (scheme, host) => {
      const httpHost = resolve(scheme, host)
      if (httpHost !== undefined) this.routedRequests++
      return httpHost
    }
    runtime.table = resolver
    this.#runtime = runtime
    for (const host of hosts) {
      this.tunnels.add(host, {
        // Not pooled, so that each client's bytes stay separate.
        ...createLocalTunnel(1, { options: { proxyProto: 1 } }),
        open: () => {
          const recorder = new Recorder(this.upstreamResponse)
          this.recorders.push(recorder)
          return recorder
        },
      })
    }
  }

  /** Sends chunks on a new connection and waits until it is idle; returns the response so far. */
  async send(...chunks: Buffer[]): Promise<{ response: string; recorders: Recorder[] }> {
    this.recorders = []
    this.routedRequests = 0
    const [clientSide, serverSide] = duplexPair()
    const transport = withReset(serverSide)
    let response = ''
    clientSide.on('data', (chunk: Buffer) => {
      response += chunk.toString('latin1')
    })
    clientSide.on('error', () => {})
    new Http1ServerConnection(this.#runtime, serverSide, transport, CONNECTION)
    for (const chunk of chunks) clientSide.write(chunk)
    let idleRounds = 0
    for (let previous = ''; idleRounds < 4; ) {
      await new Promise((resolve) => setImmediate(resolve))
      const current = `${response.length} ${this.recorders.map(({ bytes }) => bytes.length).join()}`
      idleRounds = current === previous ? idleRounds + 1 : 0
      previous = current
    }
    const { recorders } = this
    serverSide.destroy()
    clientSide.destroy()
    return { response, recorders }
  }
}

const CONNECTION: ClientConnection = {
  scheme: 'http',
  remoteAddress: '192.0.2.7',
  remotePort: 4711,
  localAddress: '192.0.2.1',
  localPort: 80,
  serverName: undefined,
  tlsPolicy: undefined,
  tls: undefined,
  startedAt: 0,
}

function withReset(stream: Duplex): ResettableStream {
  return Object.assign(stream, { resetAndDestroy: () => stream.destroy() })
}

/** Parses bytes with Node's HTTP parser, strict or lenient; returns the requests and whether it rejected any input. */
export async function parseWithNode(
  bytes: string,
  lenient: boolean,
): Promise<{ parsedRequests: RecordedRequest[]; rejected: boolean }> {
  const parsedRequests: RecordedRequest[] = []
  let rejected = false
  const server = createServer({ insecureHTTPParser: lenient, keepAliveTimeout: 0, requireHostHeader: false })
  server.on('request', (request, response) => {
    let body = ''
    request.setEncoding('latin1')
    request.on('data', (chunk: string) => {
      body += chunk
    })
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      parsedRequests.push({ method, target: url, host: headers.host ?? '', body })
      response.end()
    })
    request.on('error', () => {})
  })
  server.on('clientError', (_error, socket) => {
    rejected = true
    socket.destroy()
  })
  server.on('upgrade', (request, socket) => {
    parsedRequests.push({
      method: request.method ?? '',
      target: request.url ?? '',
      host: request.headers.host ?? '',
      body: '',
    })
    socket.destroy()
  })
  const [clientSide, serverSide] = duplexPair()
  clientSide.resume()
  clientSide.on('error', () => {})
  server.emit('connection', serverSide)
  clientSide.write(Buffer.from(bytes, 'latin1'))
  let idleRounds = 0
  for (let previous = -1; idleRounds < 4; ) {
    await new Promise((resolve) => setImmediate(resolve))
    idleRounds = parsedRequests.length === previous ? idleRounds + 1 : 0
    previous = parsedRequests.length
  }
  clientSide.destroy()
  serverSide.destroy()
  return { parsedRequests, rejected }
}
