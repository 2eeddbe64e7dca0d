import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { joinHostPort } from '../../base/hostport.ts'
import { ByteQueue } from '../../base/io/byte-queue.ts'
import type { Agent } from '../agent.ts'
import { ConfigError } from '../config/error.ts'
import type { WebSettings } from '../settings.ts'
import { INSTALL_ROOT } from '../version.ts'
import { streamCaptures } from './capture-stream.ts'
import { createGuard, type Guard } from './guard.ts'
import { isPage, servePage } from './pages.ts'
import { ApiProblem, INVALID_TUNNEL, problem } from './problem.ts'
import { createRoutes, type Reply, type Route } from './routes.ts'

const MOST_BODY = 1024 * 1024
const ALTERNATIVES = 100
const PAGES = join(INSTALL_ROOT, 'dist', 'inspector')

/** The local API while it listens. */
export interface LocalApi {
  /** `ip:port`, as numbers. */
  readonly address: string
  readonly url: string
  close(): void
}

/** Starts the local API and the inspector's pages; throws `ConfigError` when an address that was asked for is taken. */
export async function startLocalApi(agent: Agent, settings: WebSettings): Promise<LocalApi> {
  const api = { routes: createRoutes(agent), guard: undefined as Guard | undefined, calls: 0 }
  const server = createServer((request, response) => {
    void handle(agent, api, request, response)
  })
  server.headersTimeout = 10_000
  const { address, port } = await listen(server, settings, agent)
  warnWhenPublic(agent, port)
  api.guard = createGuard({ allowHosts: settings.allowHosts, ownHosts: () => ownHosts(agent, port) })
  const shown = joinHostPort(address, port)
  agent.log.info('starting web service', { obj: 'web', addr: shown, allow_hosts: settings.allowHosts })
  if (!/^127\.|^::1$/.test(address) && settings.allowHosts.length === 0) {
    agent.log.warn('the web service is bound beyond this machine and answers only to loopback names', {
      obj: 'web',
      hint: 'list the names or addresses it may be called by in web_allow_hosts',
    })
  }
  return {
    address: shown,
    url: `http://${shown}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Takes the address asked for, or when nobody asked for one, the first free port from the default on. */
async function listen(
  server: Server,
  { host, port, explicit }: WebSettings,
  agent: Agent,
): Promise<AddressInfo> {
  const last = explicit ? port : port + ALTERNATIVES
  for (let attempt = port; ; attempt++) {
    try {
      return await new Promise<AddressInfo>((resolve, reject) => {
        server.once('error', reject)
        server.listen(attempt, host, () => {
          server.off('error', reject)
          resolve(server.address() as AddressInfo)
        })
      })
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      const why = code === 'EADDRINUSE' ? 'address already in use' : message
      if (code !== 'EADDRINUSE' || attempt >= last) {
        throw new ConfigError([
          `cannot serve the local API: listen tcp ${joinHostPort(host, attempt)}: bind: ${why}`,
          'Choose another address with the key web_addr, or remove it to take the next free port.',
        ])
      }
      if (attempt === port) {
        agent.log.warn("can't bind default web address, trying alternatives", {
          obj: 'web',
          addr: joinHostPort(host, port),
        })
      }
    }
  }
}

/** Host names under which tunnels show this very API to the public: nobody else can make such a name lead here. */
function* ownHosts({ tunnels }: Agent, port: number): Iterable<string> {
  for (const { spec, publicUrl } of tunnels.list()) {
    const { upstream } = spec
    if (publicUrl && upstream.port === port && /^(localhost|127\.|::1$)/.test(upstream.host))
      yield new URL(publicUrl).hostname
  }
}

/** The API has no password: whoever shows it to the public should know. */
function warnWhenPublic(agent: Agent, port: number): void {
  const told = new Set<string>()
  agent.follow(() => {
    for (const host of ownHosts(agent, port)) {
      if (told.has(host)) continue
      told.add(host)
      agent.log.warn('the local API is public through a tunnel', { obj: 'web', host })
    }
  })
}

/** The path alone; clients of proxies name the whole address, whose host the guard looks at. */
function pathOf(target: string): string {
  return target.replace(/^https?:\/\/[^/?]*/i, '').split('?', 1)[0] || '/'
}

interface Api {
  routes: ReadonlyMap<string, Route>
  guard: Guard | undefined
  calls: number
}

async function handle(
  agent: Agent,
  api: Api,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const began = agent.clock.monotonic()
  const path = pathOf(request.url ?? '/')
  const id = (++api.calls).toString(16).padStart(16, '0')
  agent.log.info('start', { pg: path, id })
  response.on('finish', () => {
    const dur = `${(agent.clock.monotonic() - began).toFixed(3)}ms`
    agent.log.info('end', { pg: path, id, status: response.statusCode, dur })
  })
  try {
    await answer(agent, api, request, response, path)
  } catch (error) {
    if (error instanceof ApiProblem) {
      if (error.code === INVALID_TUNNEL) agent.log.warn(error.message, { pg: path, id, err: error.err })
      refuse(response, error)
    } else {
      agent.log.error('internal error', { pg: path, id, err: error })
      refuse(
        response,
        new ApiProblem(500, 108, 'internal error', `the agent made a mistake; its log has it under id ${id}`),
      )
    }
  }
}

async function answer(
  agent: Agent,
  api: Api,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
): Promise<void> {
  const method = request.method ?? 'GET'
  if (request.headersDistinct.host?.length !== 1) throw problem.malformed('name the Host once')
  const refused = api.guard?.({ method, headers: request.headers, page: isPage(path) })
  if (refused !== undefined) throw problem.forbidden(refused)

  const found = findRoute(api.routes, path)
  if (!found) {
    if (
      !path.startsWith('/api') &&
      (method === 'GET' || method === 'HEAD') &&
      (await servePage(PAGES, path, response))
    )
      return
    throw problem.notFound(`there is no ${path.slice(0, 100)} here`)
  }
  const operation = method === 'HEAD' ? 'get' : method.toLowerCase()
  const handler = Object.hasOwn(found.route, operation) ? found.route[operation] : undefined
  if (!handler)
    throw problem.methodNotAllowed(
      method,
      Object.keys(found.route).map((each) => each.toUpperCase()),
    )
  const query = new URLSearchParams(
    request.url?.includes('?') ? request.url.slice(request.url.indexOf('?')) : '',
  )
  reply(agent, response, await handler({ name: found.name, query, json: (most) => readJson(request, most) }))
}

/** The route of a path; its last part, or the one before that, may be a name, percent-encoded. */
function findRoute(
  routes: ReadonlyMap<string, Route>,
  path: string,
): { route: Route; name: string } | undefined {
  const exact = routes.get(path)
  if (exact) return { route: exact, name: '' }
  const parts = path.split('/')
  for (const at of [parts.length - 1, parts.length - 2]) {
    const route = routes.get(parts.with(at, ':').join('/'))
    if (route) return { route, name: decodeName(parts[at]!) }
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

/** Reads a JSON body, up to `most` bytes. */
export async function readJson(request: IncomingMessage, most = MOST_BODY): Promise<unknown> {
  // Forms and plain text can be posted by any web page without asking; JSON cannot.
  if (!/^application\/json[ \t]*(;|$)/i.test(request.headers['content-type'] ?? '')) {
    throw problem.malformed('the Content-Type must be application/json', 415)
  }
  const held = new ByteQueue(most)
  for await (const piece of request as AsyncIterable<Buffer>)
    if (!held.push(piece)) throw problem.malformed(`the body is longer than ${most} bytes`, 413)
  try {
    return JSON.parse(held.bytes.toString('utf8'))
  } catch (error) {
    throw problem.malformed(`the body is not JSON: ${(error as Error).message}`)
  }
}

function reply(agent: Agent, response: ServerResponse, answered: Reply): void {
  if ('stream' in answered) streamCaptures(response, agent.captures, answered.stream)
  else if (answered.status === 204) {
    response.removeHeader('Connection')
    response.writeHead(204).end()
  } else sendJson(response, answered.status, answered.body)
}

function refuse(response: ServerResponse, refusal: ApiProblem): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  if (refusal.allow) response.setHeader('Allow', refusal.allow.join(', '))
  sendJson(response, refusal.status, refusal.body())
}

/** Content-Type, Content-Length and Date, and nothing else: clients have been seen to count. */
function sendJson(response: ServerResponse, status: number, body: object): void {
  const content = Buffer.from(`${JSON.stringify(body)}\n`)
  response.removeHeader('Connection')
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': content.length })
  response.end(content)
}
