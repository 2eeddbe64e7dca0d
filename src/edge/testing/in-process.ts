import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import { type Duplex, duplexPair } from 'node:stream'
import { systemClock } from '../../base/clock.ts'
import { ByteBudgets } from '../../base/io/byte-budget.ts'
import { Turn } from '../../base/io/flush-scheduler.ts'
import { Deadlines } from '../../base/io/timer-wheel.ts'
import { silentLog } from '../../base/log.ts'
import { endpointTable } from '../compile/endpoint-table.ts'
import { Endpoints } from '../compile/endpoints.ts'
import type { Connection } from '../connection.ts'
import type { Core } from '../core.ts'
import { HELD_BODIES } from '../held-body.ts'
import { Http1Visitor } from '../http/http1-connection.ts'
import { defaultLimits, limitsInTicks } from '../limits.ts'
import { TlsPolicies } from '../listeners/tls-policy.ts'
import { EMPTY_TABLE } from '../table.ts'
import { Traffic } from '../traffic.ts'
import { IdleBudgets } from '../upstream/tunnel-target.ts'
import { Recorder, type SeenRequest } from './recorder.ts'
import { localTunnel, TestTunnels } from './tunnels.ts'

/** The edge without sockets: what a visitor sends goes in, what an upstream would get comes out. */
export class InProcessEdge {
  readonly tunnels = new TestTunnels()
  recorders: Recorder[] = []
  /** Requests the edge let in, as it understood them. */
  understood = 0
  /** What upstreams answer each request with; undefined for a plain 200. */
  upstreamAnswer: string | undefined
  readonly #core: Core

  constructor(...hosts: string[]) {
    const deadlines = new Deadlines(systemClock)
    const core: Core = {
      turn: new Turn(),
      deadlines,
      clock: systemClock,
      log: silentLog,
      limits: limitsInTicks(defaultLimits, deadlines),
      live: new Set(),
      idle: new Set(),
      observer: undefined,
      traffic: new Traffic(),
      heldBodies: new ByteBudgets(HELD_BODIES),
      challenge: undefined,
      publicHttpsPort: 443,
      publicHttpPort: 80,
      table: EMPTY_TABLE,
      draining: false,
    }
    const endpoints = new Endpoints(core, new IdleBudgets(), new TlsPolicies(), () => ({
      admission: [],
      steps: undefined,
      around: undefined,
      tls: {},
    }))
    const table = endpointTable(this.tunnels, endpoints)
    core.table = {
      ...table,
      http: (scheme, host) => {
        const entry = table.http(scheme, host)
        if (entry !== undefined) this.understood++
        return entry
      },
    }
    this.#core = core
    for (const host of hosts) {
      this.tunnels.add(host, {
        // Not shared, so that each visitor's bytes stand alone.
        ...localTunnel(1, { options: { proxyProto: 1 } }),
        open: () => {
          const recorder = new Recorder(this.upstreamAnswer)
          this.recorders.push(recorder)
          return recorder
        },
      })
    }
  }

  /** Sends the pieces on a new connection and waits until nothing more happens; the answer so far. */
  async send(...pieces: Buffer[]): Promise<{ answer: string; recorders: Recorder[] }> {
    this.recorders = []
    this.understood = 0
    const [near, far] = duplexPair()
    const transport = withReset(far)
    let answer = ''
    near.on('data', (chunk: Buffer) => {
      answer += chunk.toString('latin1')
    })
    near.on('error', () => {})
    new Http1Visitor(this.#core, far, transport, CONNECTION)
    for (const piece of pieces) near.write(piece)
    let quiet = 0
    for (let before = ''; quiet < 4; ) {
      await new Promise((resolve) => setImmediate(resolve))
      const now = `${answer.length} ${this.recorders.map(({ bytes }) => bytes.length).join()}`
      quiet = now === before ? quiet + 1 : 0
      before = now
    }
    const { recorders } = this
    far.destroy()
    near.destroy()
    return { answer, recorders }
  }
}

const CONNECTION: Connection = {
  scheme: 'http',
  remoteAddress: '192.0.2.7',
  remotePort: 4711,
  localAddress: '192.0.2.1',
  localPort: 80,
  serverName: undefined,
  policy: undefined,
  tls: undefined,
  startedAt: 0,
}

function withReset(stream: Duplex): Socket {
  return Object.assign(stream, { resetAndDestroy: () => stream.destroy() }) as unknown as Socket
}

/** The requests that Node's own parser finds in these bytes, strictly or leniently, and whether it gave up at some. */
export async function readWithNode(
  bytes: string,
  lenient: boolean,
): Promise<{ seen: SeenRequest[]; refused: boolean }> {
  const seen: SeenRequest[] = []
  let refused = false
  const server = createServer({ insecureHTTPParser: lenient, keepAliveTimeout: 0, requireHostHeader: false })
  server.on('request', (request, response) => {
    let body = ''
    request.setEncoding('latin1')
    request.on('data', (piece: string) => {
      body += piece
    })
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      seen.push({ method, target: url, host: headers.host ?? '', body })
      response.end()
    })
    request.on('error', () => {})
  })
  server.on('clientError', (_error, socket) => {
    refused = true
    socket.destroy()
  })
  server.on('upgrade', (request, socket) => {
    seen.push({
      method: request.method ?? '',
      target: request.url ?? '',
      host: request.headers.host ?? '',
      body: '',
    })
    socket.destroy()
  })
  const [near, far] = duplexPair()
  near.resume()
  near.on('error', () => {})
  server.emit('connection', far)
  near.write(Buffer.from(bytes, 'latin1'))
  let quiet = 0
  for (let before = -1; quiet < 4; ) {
    await new Promise((resolve) => setImmediate(resolve))
    quiet = seen.length === before ? quiet + 1 : 0
    before = seen.length
  }
  near.destroy()
  far.destroy()
  return { seen, refused }
}
