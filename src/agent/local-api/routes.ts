import { errorMessage } from '../../base/text/error-message.ts'
import { joinHostPort } from '../../base/values/hostport.ts'
import { VERSION } from '../../base/version.ts'
import { ProtocolError } from '../../protocol/index.ts'
import type { Agent } from '../agent.ts'
import { endpointShape, tunnelShape } from '../config/definitions.ts'
import type { ConfigProblem, Shape } from '../config/shape.ts'
import { isRecord } from '../config/shape.ts'
import { NoSession } from '../connect/connection.ts'
import type { AgentLeg } from '../connect/legged-session.ts'
import { decodeBody } from '../inspector/decoded-body.ts'
import { FrameLog } from '../inspector/frame-log.ts'
import { type AgentTunnelSpec, toEndpointSpec, toTunnelSpec } from '../spec/spec.ts'
import { SpecError } from '../spec/spec-error.ts'
import type { AgentTunnel } from '../tunnels/tunnel.ts'
import { StartError } from '../tunnels/tunnels.ts'
import type { CaptureStreamOptions } from './capture-stream.ts'
import type { AgentStatus, DecodedBodyView } from './page-data.ts'
import { problem, throwNotFound } from './problem.ts'
import { handleReplay, MAX_REPLAY_BYTES } from './replay-call.ts'
import { captureView, endpointView, framesSummary, frameView, tunnelView } from './views.ts'

/** One API call; its body is read on demand. */
export interface LocalCall {
  /** The decoded name in the path, for routes that have one. */
  name: string
  query: URLSearchParams
  /** Reads the body; rejects it if it is longer than `maxBytes`. */
  json(maxBytes?: number): Promise<unknown>
}

/** The reply of a handler; a `stream` takes over the response. What only the inspector page asks for may be compressed. */
export type LocalReply =
  | { status: 200 | 201; body: object; compressible?: boolean }
  | { status: 204 }
  | { stream: CaptureStreamOptions }

type Handler = (call: LocalCall) => LocalReply | Promise<LocalReply>

/** The handlers of one path by method, in lower case. */
export type LocalRoute = Readonly<Record<string, Handler>>

const DEFAULT_LIMIT = 100
const MAX_LIMIT = 1000
/** The frames of an exchange that has none. */
const NO_FRAMES = new FrameLog()
NO_FRAMES.end(undefined)

const root: LocalRoute = {
  get: () => ({
    status: 200,
    body: {
      uri: '/api',
      status_uri: '/api/status',
      tunnels_uri: '/api/tunnels',
      endpoints_uri: '/api/endpoints',
      requests_uri: '/api/requests/http',
      request_stream_uri: '/api/requests/http/stream',
    },
  }),
}

const requestStream: LocalRoute = {
  get: ({ query }) => ({
    stream: { tunnelName: query.get('tunnel_name') ?? undefined, frames: query.get('frames') === 'true' },
  }),
}

/** All routes of the local API by path; `:` stands for a name in the last or second to last segment. */
export function createRoutes(agent: Agent): ReadonlyMap<string, LocalRoute> {
  const { tunnels, captures } = agent
  return new Map([
    ['/api', root],
    ['/api/', root],
    ['/api/status', statusRoute(agent)],
    ['/api/config/reload', reloadRoute(agent)],
    ['/api/tunnels', tunnelListRoute(tunnels)],
    ['/api/tunnels/:', tunnelRoute(tunnels)],
    ['/api/endpoints', endpointListRoute(tunnels)],
    ['/api/endpoints/:', endpointRoute(tunnels)],
    ['/api/requests/http', requestListRoute(agent)],
    ['/api/requests/http/stream', requestStream],
    ['/api/requests/http/:', requestRoute(captures)],
    ['/api/requests/http/:/body', requestBodyRoute(captures)],
    ['/api/requests/http/:/frames', requestFramesRoute(captures)],
    ['/api/requests/http/:/pin', requestPinRoute(captures)],
  ])
}

function statusRoute({ connection, updater, captures }: Agent): LocalRoute {
  return {
    get: () => ({
      status: 200,
      body: {
        status: connection.status,
        agent_version: VERSION,
        session: {
          id: connection.welcome?.Extra.AgentSessionID ?? '',
          account: connection.welcome?.Extra.AccountName ?? '',
          legs: connection.status === 'online' ? connection.legs.map(legView) : [],
        },
        ...(updater.available === undefined ? {} : { update_available: updater.available }),
        inspect_db_size: captures.enabled ? captures.limit : -1,
        uri: '/api/status',
      } satisfies AgentStatus,
    }),
  }
}

function reloadRoute(agent: Agent): LocalRoute {
  return {
    post: async () => {
      if (agent.connection.status !== 'online') throw problem.notReady()
      const result = await agent.reload().catch((error) => {
        throw problem.notReloaded(errorMessage(error))
      })
      return { status: 200, body: result }
    },
  }
}

function tunnelListRoute(tunnels: Agent['tunnels']): LocalRoute {
  return {
    get: () => ({ status: 200, body: { tunnels: tunnels.list().map(tunnelView), uri: '/api/tunnels' } }),
    post: async (call) => {
      const definition = parseDefinition(tunnelShape, await call.json())
      const spec = parseSpec(() => toTunnelSpec(definition.name ?? '', definition))
      return { status: 201, body: tunnelView(await awaitStart(tunnels.start(spec))) }
    },
  }
}

function tunnelRoute(tunnels: Agent['tunnels']): LocalRoute {
  return {
    get: ({ name }) => ({
      status: 200,
      body: tunnelView(tunnels.get(name) ?? throwNotFound('tunnel', name)),
    }),
    delete: async ({ name }) => {
      if (!(await tunnels.stop(name))) throwNotFound('tunnel', name)
      return { status: 204 }
    },
  }
}

function endpointListRoute(tunnels: Agent['tunnels']): LocalRoute {
  return {
    get: () => ({
      status: 200,
      body: { endpoints: tunnels.list().map((tunnel) => endpointView(tunnel, false)), uri: '/api/endpoints' },
    }),
    post: async (call) => {
      const definition = parseDefinition(endpointShape, await call.json())
      const spec = parseSpec(() => toEndpointSpec(definition))
      return { status: 201, body: endpointView(await awaitStart(tunnels.start(spec)), true) }
    },
  }
}

function endpointRoute(tunnels: Agent['tunnels']): LocalRoute {
  return {
    get: ({ name }) => ({
      status: 200,
      body: endpointView(tunnels.get(name) ?? throwNotFound('endpoint', name), true),
    }),
    put: async (call) => {
      const body = await call.json()
      const definition = parseDefinition(endpointShape, body)
      if (definition.name !== undefined && definition.name !== call.name) {
        throw problem.invalidTunnel(`the name "${definition.name}" does not match the path`)
      }
      const spec = parseSpec(() => toEndpointSpec({ ...definition, name: call.name }))
      const existing = tunnels.get(call.name)
      const tunnel = await awaitStart(existing ? tunnels.replace(existing, spec) : tunnels.start(spec))
      return { status: existing ? 200 : 201, body: endpointView(tunnel, true) }
    },
    delete: async ({ name }) => {
      if (!(await tunnels.stop(name))) throwNotFound('endpoint', name)
      return { status: 204 }
    },
  }
}

function requestListRoute(agent: Agent): LocalRoute {
  const { captures } = agent
  return {
    get: ({ query }) => {
      const list = captures.list(
        parseLimit(query),
        query.get('tunnel_name') ?? undefined,
        query.get('before_id') ?? undefined,
      )
      const summary = query.get('summary') === 'true'
      return {
        status: 200,
        body: { uri: '/api/requests/http', requests: list.map((capture) => captureView(capture, summary)) },
        compressible: summary,
      }
    },
    post: async (call) => {
      handleReplay(agent, await call.json(MAX_REPLAY_BYTES))
      return { status: 204 }
    },
    delete: ({ query }) => {
      captures.clear({ keepPinned: query.get('keep_pinned') === 'true' })
      return { status: 204 }
    },
  }
}

function requestRoute(captures: Agent['captures']): LocalRoute {
  return {
    get: ({ name }) => ({
      status: 200,
      body: captureView(captures.get(name) ?? throwNotFound('captured request', name)),
    }),
  }
}

function requestPinRoute(captures: Agent['captures']): LocalRoute {
  const setPin = (name: string, pinned: boolean): LocalReply => {
    const capture = captures.get(name) ?? throwNotFound('captured request', name)
    if (!captures.pin(capture, pinned)) throw problem.tooManyPins()
    return { status: 204 }
  }
  return {
    put: ({ name }) => setPin(name, true),
    delete: ({ name }) => setPin(name, false),
  }
}

function requestBodyRoute(captures: Agent['captures']): LocalRoute {
  return {
    get: async ({ name, query }) => {
      const capture = captures.get(name) ?? throwNotFound('captured request', name)
      const side = query.get('side') ?? 'response'
      if (side !== 'request' && side !== 'response')
        throw problem.malformed('side must be request or response')
      const { body, decoded, problem: bodyProblem } = await decodeBody(capture, side)
      return {
        status: 200,
        body: {
          uri: `/api/requests/http/${capture.id}/body`,
          side,
          decoded,
          ...(bodyProblem === undefined ? {} : { problem: bodyProblem }),
          base64: body.toString('base64'),
        } satisfies DecodedBodyView,
      }
    },
  }
}

function requestFramesRoute(captures: Agent['captures']): LocalRoute {
  return {
    get: ({ name, query }) => {
      const { id, frames = NO_FRAMES } = captures.get(name) ?? throwNotFound('captured request', name)
      const list = frames.framesAfter(parseCount(query, 'after') ?? 0, parseLimit(query))
      return { status: 200, body: { ...framesSummary(id, frames), frames: list.map(frameView) } }
    },
  }
}

function legView({ session, location, latencyMs }: AgentLeg): AgentStatus['session']['legs'][number] {
  return {
    region: session.authResponse.Extra?.Region ?? '',
    latency: latencyMs === undefined ? '' : `${Math.round(latencyMs)}ms`,
    address: joinHostPort(location.host, location.port),
    streams: session.streamCount,
  }
}

/** Parses a definition from a body; reports all problems at once. */
function parseDefinition<T>(shape: Shape<T>, body: unknown): T {
  const problems: ConfigProblem[] = []
  const definition = isRecord(body) ? shape.read(body, [], problems) : undefined
  if (problems.length > 0 || definition === undefined) {
    throw problem.invalidTunnel(
      problems.map(({ message }) => message).join('; ') || 'the body must be a JSON object',
    )
  }
  return definition
}

function parseSpec(parse: () => AgentTunnelSpec): AgentTunnelSpec {
  try {
    return parse()
  } catch (error) {
    throw toStartProblem(error)
  }
}

async function awaitStart(start: Promise<AgentTunnel>): Promise<AgentTunnel> {
  try {
    return await start
  } catch (error) {
    throw toStartProblem(error)
  }
}

function toStartProblem(error: unknown): unknown {
  if (error instanceof SpecError) return problem.invalidTunnel(error.message)
  if (error instanceof NoSession || error instanceof ProtocolError) return problem.notReady()
  if (error instanceof StartError) {
    const code = error.code === undefined ? '' : `\n\n${error.code}\n`
    return problem.startFailed(`failed to start tunnel: ${error.message}${code}`)
  }
  return error
}

function parseLimit(query: URLSearchParams): number {
  return Math.min(parseCount(query, 'limit') ?? DEFAULT_LIMIT, MAX_LIMIT)
}

function parseCount(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  if (!/^\d{1,15}$/.test(text)) throw problem.malformed(`${name} must be a non-negative integer`)
  return Number(text)
}
