import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { negotiateCoding } from '../../base/http/accepted-coding.ts'
import { ByteQueue } from '../../base/io/streams/byte-queue.ts'
import { errorMessage } from '../../base/text/error-message.ts'
import { joinHostPort } from '../../base/values/hostport.ts'
import { INSTALL_ROOT } from '../../base/version.ts'
import type { Agent } from '../agent.ts'
import { ConfigError } from '../config/error.ts'
import type { WebSettings } from '../settings.ts'
import { streamCaptures } from './capture-stream.ts'
import { createGuard, type RequestGuard } from './guard.ts'
import { isPage, servePage } from './pages.ts'
import { ApiProblem, INVALID_TUNNEL, problem } from './problem.ts'
import { createRoutes, type LocalReply, type LocalRoute } from './routes.ts'

const MAX_BODY_BYTES = 1024 * 1024
const MAX_ALTERNATIVE_PORTS = 100
const PAGES_DIRECTORY = join(INSTALL_ROOT, 'dist', 'inspector')

/** The local API while it listens. */
export interface LocalApi {
  /** `ip:port`, as numbers. */
  readonly address: string
  readonly url: string
  close(): void
}

/** Starts the local API and the inspector pages; throws `ConfigError` if a configured address is in use. */
export async function startLocalApi(agent: Agent, settings: WebSettings): Promise<LocalApi> {
  const api = { routes: createRoutes(agent), guard: undefined as RequestGuard | undefined, calls: 0 }
  const server = createServer((request, response) => {
    void handle(agent, api, request, response)
  })
  server.headersTimeout = 10_000
  const { address, port } = await listen(server, settings, agent)
  warnIfPublic(agent, port)
  api.guard = createGuard({ allowHosts: settings.allowHosts, ownHosts: () => ownHosts(agent, port) })
  const hostPort = joinHostPort(address, port)
  agent.log.info('starting web service', {
    obj: 'web',
    // Wrappers expect the name that they configured.
    addr: settings.host === 'localhost' ? `localhost:${port}` : hostPort,
    allow_hosts: settings.allowHosts,
  })
  if (!/^127\.|^::1$/.test(address) && settings.allowHosts.length === 0) {
    agent.log.warn('the web service listens beyond loopback but accepts only loopback host names', {
      obj: 'web',
      hint: 'add the host names or addresses that clients use to web_allow_hosts',
    })
  }
  return {
    address: hostPort,
    url: `http://${hostPort}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Listens on the configured address, or without one, on the first free port from the default on. */
async function listen(
  server: Server,
  { host, port, explicit }: WebSettings,
  agent: Agent,
): Promise<AddressInfo> {
  const last = explicit ? port : port + MAX_ALTERNATIVE_PORTS
  for (let candidate = port; ; candidate++) {
    try {
      return await new Promise<AddressInfo>((resolve, reject) => {
        server.once('error', reject)
        // Not every system resolves localhost to IPv4 first.
        server.listen(candidate, host === 'localhost' ? '127.0.0.1' : host, () => {
          server.off('error', reject)
          resolve(server.address() as AddressInfo)
        })
      })
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      const reason = code === 'EADDRINUSE' ? 'address already in use' : message
      if (code !== 'EADDRINUSE' || candidate >= last) {
        throw new ConfigError([
          `cannot serve the local API: listen tcp ${joinHostPort(host, candidate)}: bind: ${reason}`,
          'Choose another address with the key web_addr, or remove it to use the next free port.',
        ])
      }
      if (candidate === port) {
        agent.log.warn("can't bind default web address, trying alternatives", {
          obj: 'web',
          addr: joinHostPort(host, port),
        })
      }
    }
  }
}

/** Public host names of tunnels to this API. They are safe to accept: only the agent's own tunnels can route them here. */
function* ownHosts({ tunnels }: Agent, port: number): Iterable<string> {
  for (const { spec, publicUrl } of tunnels.list()) {
    const { upstream } = spec
    if (publicUrl && upstream.port === port && /^(localhost|127\.|::1$)/.test(upstream.host))
      yield new URL(publicUrl).hostname
  }
}

/** Warns once per host name when a tunnel exposes the API, which has no password. */
function warnIfPublic(agent: Agent, port: number): void {
  const warned = new Set<string>()
  agent.follow(() => {
    for (const host of ownHosts(agent, port)) {
      if (warned.has(host)) continue
      warned.add(host)
      agent.log.warn('the local API is public through a tunnel', { obj: 'web', host })
    }
  })
}

/** The path of a request target, which may be in absolute form (RFC 9112 section 3.2.2). */
function parsePath(target: string): string {
  return target.replace(/^https?:\/\/[^/?]*/i, '').split('?', 1)[0] || '/'
}

interface ApiState {
  routes: ReadonlyMap<string, LocalRoute>
  guard: RequestGuard | undefined
  calls: number
}

async function handle(
  agent: Agent,
  api: ApiState,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const startTime = agent.clock.monotonic()
  const path = parsePath(request.url ?? '/')
  const id = (++api.calls).toString(16).padStart(16, '0')
  agent.log.info('start', { pg: path, id })
  response.on('finish', () => {
    const dur = `${(agent.clock.monotonic() - startTime).toFixed(3)}ms`
    agent.log.info('end', { pg: path, id, status: response.statusCode, dur })
  })
  try {
    await dispatch(agent, api, request, response, path)
  } catch (error) {
    if (error instanceof ApiProblem) {
      if (error.code === INVALID_TUNNEL) agent.log.warn(error.message, { pg: path, id, err: error.err })
      sendProblem(response, error)
    } else {
      agent.log.error('internal error', { pg: path, id, err: error })
      sendProblem(
        response,
        new ApiProblem(500, 108, 'internal error', `internal error of the agent; see its log for id ${id}`),
      )
    }
  }
}

async function dispatch(
  agent: Agent,
  api: ApiState,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
): Promise<void> {
  const method = request.method ?? 'GET'
  if (request.headersDistinct.host?.length !== 1)
    throw problem.malformed('the request must have exactly one Host header')
  const rejection = api.guard?.({ method, headers: request.headers, page: isPage(path) })
  if (rejection !== undefined) throw problem.forbidden(rejection)

  const match = findRoute(api.routes, path)
  if (!match) {
    if (
      !path.startsWith('/api') &&
      (method === 'GET' || method === 'HEAD') &&
      (await servePage(PAGES_DIRECTORY, path, request, response))
    )
      return
    throw problem.notFound(`there is no ${path.slice(0, 100)} here`)
  }
  const operation = method === 'HEAD' ? 'get' : method.toLowerCase()
  const handler = Object.hasOwn(match.route, operation) ? match.route[operation] : undefined
  if (!handler)
    throw problem.methodNotAllowed(
      method,
      Object.keys(match.route).map((name) => name.toUpperCase()),
    )
  const query = new URLSearchParams(
    request.url?.includes('?') ? request.url.slice(request.url.indexOf('?')) : '',
  )
  const reply = await handler({ name: match.name, query, json: (maxBytes) => readJson(request, maxBytes) })
  if ('body' in reply && reply.compressible) await sendCompressed(request, response, reply.body)
  else sendReply(agent, response, reply)
}

/** Finds the route of a path; the last or second to last segment may be a percent-encoded name. */
function findRoute(
  routes: ReadonlyMap<string, LocalRoute>,
  path: string,
): { route: LocalRoute; name: string } | undefined {
  const exact = routes.get(path)
  if (exact) return { route: exact, name: '' }
  const parts = path.split('/')
  for (const index of [parts.length - 1, parts.length - 2]) {
    const route = routes.get(parts.with(index, ':').join('/'))
    if (route) return { route, name: decodeName(parts[index]!) }
  }
  return undefined
}

function decodeName(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw problem.malformed('the name in the path is not properly percent-encoded')
  }
}

/** Reads a JSON body of up to `maxBytes`. */
export async function readJson(request: IncomingMessage, maxBytes = MAX_BODY_BYTES): Promise<unknown> {
  // Any web page can post forms and plain text without a CORS preflight, but not JSON.
  if (!/^application\/json[ \t]*(;|$)/i.test(request.headers['content-type'] ?? '')) {
    throw problem.malformed('the Content-Type must be application/json', 415)
  }
  const body = new ByteQueue(maxBytes)
  for await (const chunk of request as AsyncIterable<Buffer>)
    if (!body.push(chunk)) throw problem.malformed(`the body is longer than ${maxBytes} bytes`, 413)
  try {
    return JSON.parse(body.bytes.toString('utf8'))
  } catch (error) {
    throw problem.malformed(`the body is not JSON: ${errorMessage(error)}`)
  }
}

function sendReply(agent: Agent, response: ServerResponse, reply: LocalReply): void {
  if ('stream' in reply) streamCaptures(response, agent, reply.stream)
  else if (reply.status === 204) {
    response.removeHeader('Connection')
    response.writeHead(204).end()
  } else sendJson(response, reply.status, reply.body)
}

/** Headers of hundreds of requests repeat each other: a twentieth is left. Fast, since most pages are on this machine. */
async function sendCompressed(
  request: IncomingMessage,
  response: ServerResponse,
  body: object,
): Promise<void> {
  const content = Buffer.from(`${JSON.stringify(body)}\n`)
  const coding = negotiateCoding(request.headers['accept-encoding'] ?? '', ['gzip'])
  const sent = coding === undefined ? content : await promisify(gzip)(content, { level: 1 })
  response.removeHeader('Connection')
  response.writeHead(200, {
    'Content-Type': 'application/json',
    'Content-Length': sent.length,
    Vary: 'accept-encoding',
    ...(coding && { 'Content-Encoding': coding }),
  })
  response.end(sent)
}

function sendProblem(response: ServerResponse, apiProblem: ApiProblem): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  if (apiProblem.allow) response.setHeader('Allow', apiProblem.allow.join(', '))
  sendJson(response, apiProblem.status, apiProblem.body())
}

/** Sends Content-Type, Content-Length and Date only: some clients depend on the exact set of headers. */
function sendJson(response: ServerResponse, status: number, body: object): void {
  const content = Buffer.from(`${JSON.stringify(body)}\n`)
  response.removeHeader('Connection')
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': content.length })
  response.end(content)
}
