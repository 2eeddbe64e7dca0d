import { isUtf8 } from 'node:buffer'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type onRequestHookHandler,
} from 'fastify'
import { Registry } from 'prom-client'
import type { TSchema } from 'typebox'
import type { Principal } from '../auth/index.ts'
import type { Clock } from '../base/clock.ts'
import { errorMessage } from '../base/error-message.ts'
import { KsuidGenerator } from '../base/id.ts'
import { Admission } from '../base/io/admission.ts'
import type { Logger } from '../base/log.ts'
import { pathOfNul } from '../base/nul.ts'
import { hasRole } from '../resources/index.ts'
import type { Store } from '../store/index.ts'
import { operations } from './all-operations.ts'
import { createAuthenticate, requirePrincipal } from './authenticate.ts'
import { type ApiCall, createRenderContext } from './call.ts'
import { setClientAddress } from './client-address.ts'
import type { ApiConfig, ApiParts } from './config.ts'
import { auditEntry } from './crud.ts'
import {
  isCommand,
  isOriginal,
  needsObjectForEmpty,
  toNativeBody,
  toNativeUrl,
  toOriginalBody,
} from './dialect.ts'
import { EdgeConnections, type EdgeOrigin } from './edge-connections.ts'
import {
  handleClientError,
  handleFrameworkError,
  installErrorHandlers,
  setCommonHeaders,
} from './error-responses.ts'
import { createLazyValidation } from './lazy-validation.ts'
import { createApiMetrics } from './metrics.ts'
import type { ApiOperation } from './operations.ts'
import { mountPages } from './pages.ts'
import { readPage } from './paging.ts'
import { createProbes, type Probes } from './probes.ts'
import { fieldProblem, type Problem, problem } from './problems.ts'
import { createBodyReader } from './read-body.ts'
import { createCallRecorder } from './record-calls.ts'
import { roleProblem } from './roles.ts'
import { parseStrictJson } from './strict-json.ts'

declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal | undefined
    isOriginal: boolean
    /** Monotonic milliseconds. */
    startedAt: number
  }
}

/** Grace period of calls in flight when the server stops. */
const CLOSE_TIMEOUT_MS = 5_000
const MAX_BODY_BYTES = 1024 * 1024
/** The role that may change a secret may also read it, where the API returns secrets. */
const ROLE_FOR_SECRETS = 'developer'
// Validates the body as sent: no coercion, no defaults, no removal.
const VALIDATION = {
  coerceTypes: false,
  useDefaults: false,
  removeAdditional: false,
  allErrors: false,
  strict: false,
  allowUnionTypes: true,
} as const

/** The management API on its listener. */
export interface Api {
  /** Binds the address and returns the actual one. */
  listen(address: { host: string; port: number }): Promise<{ host: string; port: number }>
  /** Prepares the API for `connect` when it has no listener of its own. */
  start(): Promise<void>
  /** Opens a connection in memory on behalf of a client of the edge, whose address the API sees. */
  connect(origin: EdgeOrigin): Duplex
  close(): Promise<void>
  /** The underlying server, for pages beside the API. */
  readonly http: FastifyInstance
  /** The authentication hook, for routes beside the API. */
  readonly authenticate: onRequestHookHandler
  /** The handlers of `/healthz` and `/readyz`, for a listener of their own. */
  readonly probes: Probes
}

export interface ApiOptions {
  readonly store: Store
  readonly parts: ApiParts
  readonly config: ApiConfig
  readonly clock: Clock
  readonly log: Logger
  readonly metrics?: Registry
  /** Resolves when all parts are ready, throws the reason otherwise. */
  readonly ready?: () => Promise<void>
}

/** Creates the API: mounts every operation and the pages beside them. */
export function createApi(options: ApiOptions): Api {
  const { store, parts, config, clock, log } = options
  const withSecrets = createRenderContext(config.apiUrl, true)
  const withoutSecrets = createRenderContext(config.apiUrl)
  const registry = options.metrics ?? new Registry()
  const authenticate = createAuthenticate({
    auth: parts.auth,
    browserAuth: parts.browserAuth,
    admits: (accountId, address) => parts.restrictions.admits(accountId, 'api', address),
    perMinute: config.rateLimit,
    clock,
  })

  const callIds = new KsuidGenerator('op')
  const http = fastify({
    bodyLimit: MAX_BODY_BYTES,
    genReqId: () => callIds.next(clock.now()),
    rewriteUrl({ url = '/', headers }) {
      const target = url.includes('//') ? normalizeTarget(url) : url
      return isOriginal(headers) ? toNativeUrl(target) : target
    },
    // Node would reject a request without Host itself, without the API's error body.
    http: { requireHostHeader: false, headersTimeout: 10_000, connectionsCheckingInterval: 1_000 },
    requestTimeout: 30_000,
    // Longer than keepAliveTimeout: closes only clients that do not read their response.
    connectionTimeout: 120_000,
    keepAliveTimeout: 60_000,
    forceCloseConnections: 'idle',
    frameworkErrors: handleFrameworkError,
    clientErrorHandler: handleClientError,
    routerOptions: { maxParamLength: 200, ignoreTrailingSlash: false },
  })
  const edgeConnections = new EdgeConnections(http.server)
  const admission = new Admission({
    total: config.maxConnections ?? Number.POSITIVE_INFINITY,
    isShared: config.isShared,
  })
  // Node resolves the peer address lazily and a closed socket has none, but calls are recorded after their end.
  http.server.on('connection', (socket: Socket) => {
    admission.admit(socket)
  })
  const validation = createLazyValidation({ customOptions: VALIDATION })
  http.addHook('onReady', validation.ready)
  http.setValidatorCompiler(validation.compile)
  http.decorateRequest('principal', undefined)
  http.decorateRequest('isOriginal', false)
  http.decorateRequest('startedAt', 0)

  http.removeAllContentTypeParsers()
  const bodyReader = createBodyReader(MAX_BODY_BYTES, config.isShared)
  const parseJson = (request: FastifyRequest, body: Buffer): unknown => {
    const path = request.url.split('?')[0]!
    if (body.length > 0 && rejectsBody(request)) throw problem('body_unexpected', request.method)
    if (body.length === 0 || (request.isOriginal && isCommand(path))) return undefined
    const value = parseBody(body)
    return request.isOriginal ? toNativeBody(request.method, requestedPath(request), value) : value
  }
  http.addContentTypeParser('application/json', bodyReader.parser(parseJson))

  // Official clients send commands with a text body, some of them without a content type.
  const parseOther = (request: FastifyRequest, body: Buffer): undefined => {
    if (request.isOriginal && isCommand(request.url.split('?')[0]!)) return undefined
    if (!rejectsBody(request)) throw problem('content_type', request.headers['content-type'])
    if (body.length > 0) throw problem('body_unexpected', request.method)
  }
  http.addContentTypeParser('*', bodyReader.parser(parseOther))

  http.addHook('onRequest', (request, reply, done) => {
    request.startedAt = clock.monotonic()
    // The edge has verified the address of its client already.
    const host = edgeConnections.hostOf(request.raw.socket)
    const unknownClient =
      host === undefined && config.trustedProxies && setClientAddress(request, config.trustedProxies)
    if (declaresBody(request)) bodyReader.packReads(request)
    setCommonHeaders(request, reply)
    if (unknownClient) return done(unknownClient)
    if (host === 'api' && isDashboardRoute(request)) return leaveForDashboard(request, reply)
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1')
      return done(problem('bad_request', 'it has no Host header.'))
    if (request.url.includes('%00')) return done(problem('bad_request', 'its address holds U+0000.'))
    const version = request.headers[request.isOriginal ? 'ngrok-version' : 'service-version']
    done(version === undefined || version === '2' ? undefined : problem('version', String(version)))
  })

  /** The API's own host serves no pages: an operator may publish it without the dashboard. */
  function leaveForDashboard({ method }: FastifyRequest, reply: FastifyReply): void {
    const url = config.dashboardUrl?.()
    if (url === undefined || method !== 'GET') reply.callNotFound()
    else reply.redirect(url)
  }

  const createRecorder = createCallRecorder({ store, metrics: createApiMetrics(registry), clock, log })
  installErrorHandlers(http, { routes: operations, bodyLimit: MAX_BODY_BYTES, log })

  function createCall(request: FastifyRequest, operation: ApiOperation): ApiCall {
    const principal = requirePrincipal(request)
    return {
      principal,
      operation,
      operationId: request.id,
      source: request.ip,
      store,
      parts,
      config,
      clock,
      log,
      renderContext: hasRole(principal.role, ROLE_FOR_SECRETS) ? withSecrets : withoutSecrets,
      secrets: { shown: false },
    }
  }

  function mount(operation: ApiOperation): void {
    const mutates = operation.method !== 'GET'
    const record = createRecorder(operation)
    const { body, paged = false } = operation
    const unsetWhenEmpty = emptyMeansUnset(body)
    http.route({
      method: operation.method,
      url: operation.path.replace(/\{([a-z_]+)\}/g, ':$1'),
      config: { record, bodiless: body === undefined },
      // Responses are rendered from the declarations, so they need no response schema.
      schema: body === undefined ? {} : { body },
      // One hook for all checks before the body: every hook costs every call.
      onRequest: (request, reply, done) => {
        authenticate.call(http, request, reply, (error) => {
          if (error !== undefined) return done(error)
          const denied = roleProblem(requirePrincipal(request), operation)
          if (denied !== undefined) return done(denied)
          if (rejectsBody(request) && declaresBody(request))
            return done(problem('body_unexpected', operation.method))
          done()
        })
      },
      ...(body && {
        preValidation: (request: FastifyRequest, _reply: FastifyReply, done: () => void) => {
          if (request.body === undefined) request.body = {}
          for (const name of unsetWhenEmpty) dropEmpty(request.body, name)
          done()
        },
      }),
      handler: async (request, reply) => {
        const call = createCall(request, operation)
        const params = request.params as Record<string, string>
        const result = await operation.run(call, {
          params,
          page: readPage(request.query as Record<string, unknown>, paged, request.isOriginal),
          body: (request.body ?? {}) as Record<string, unknown>,
        })
        if (call.secrets.shown && !mutates)
          await store.write({}, (tx) => tx.audit(auditEntry(call, params.id)))
        record(request, operation.status)
        return sendResponse(request, reply, operation.status, result)
      },
    })
  }

  for (const operation of operations) mount(operation)
  const probes = createProbes(async () => {
    await store.check()
    await options.ready?.()
  })
  mountPages(http, {
    probes,
    authenticate,
    registry,
    apiUrl: config.apiUrl,
    operatorAccount: config.operatorAccount,
    version: config.version,
  })

  return {
    http,
    authenticate,
    probes,
    async listen({ host, port }) {
      await http.listen({ host, port })
      const address = http.server.address()
      if (address === null || typeof address === 'string') throw new Error('the API listener has no address')
      return { host: address.address, port: address.port }
    },
    start: async () => void (await http.ready()),
    connect: (origin) => edgeConnections.open(origin),
    async close() {
      const timer = setTimeout(() => http.server.closeAllConnections(), CLOSE_TIMEOUT_MS)
      await http.close()
      clearTimeout(timer)
    },
  }
}

/**
 * Normalises the request target. Clients of a proxy send the absolute form (RFC 9112 section 3.2.2), and some clients
 * join a base URL that ends in a slash with a path that begins with one.
 */
function normalizeTarget(target: string): string {
  const path = target.replace(/^https?:\/\/[^/?#]*\/?/i, '/')
  return path.replace(/^[^?]*/, (path) => path.replace(/\/{2,}/g, '/'))
}

/** Parses a JSON body; throws a `Problem` if it is invalid. */
function parseBody(body: Buffer): unknown {
  if (!isUtf8(body)) throw problem('malformed_json', 'it is not UTF-8.')
  const text = body.toString()
  let value: unknown
  try {
    value = parseStrictJson(text)
  } catch (error) {
    throw problem('malformed_json', errorMessage(error))
  }
  const nulPath = text.includes('\\u0000') ? pathOfNul(value) : undefined
  if (nulPath !== undefined) throw nulProblem(nulPath)
  return value
}

function nulProblem(field: string): Problem {
  const sentence = `${field || 'The body'} holds U+0000, which text here cannot have. Remove it.`
  return field === '' ? problem('invalid_field', sentence) : fieldProblem(field, 'invalid_field', sentence)
}

/** The fields of a body whose empty string means unset. */
function emptyMeansUnset(body: TSchema | undefined): string[] {
  const { properties = {} } = (body ?? {}) as { properties?: Record<string, Record<string, unknown>> }
  return Object.keys(properties).filter((name) => properties[name]!['x-empty-means-unset'] === true)
}

function dropEmpty(body: unknown, name: string): void {
  const fields = body as Record<string, unknown> | null
  if (fields?.[name] === '') delete fields[name]
}

/** By the matched route: a path has many spellings. */
function isDashboardRoute({ routeOptions: { url = '' } }: FastifyRequest): boolean {
  return url === '/dashboard' || url.startsWith('/dashboard/')
}

/** The path before an older name in it was replaced. */
function requestedPath({ originalUrl }: FastifyRequest): string {
  return originalUrl.split('?')[0]!
}

/** Whether a request must not have a body; official clients always send one. */
function rejectsBody({ isOriginal, routeOptions }: FastifyRequest): boolean {
  return !isOriginal && (routeOptions.config as { bodiless?: boolean }).bodiless === true
}

/** Whether the headers declare a body. A chunked body may still turn out to be empty. */
function declaresBody({ method, headers }: FastifyRequest): boolean {
  if (headers['transfer-encoding'] !== undefined) return method !== 'DELETE'
  return headers['content-length'] !== undefined && headers['content-length'] !== '0'
}

function sendResponse(request: FastifyRequest, reply: FastifyReply, status: number, result: unknown) {
  if (!request.isOriginal) return reply.code(status).send(result)
  reply.serializer(JSON.stringify)
  if (status === 204)
    return needsObjectForEmpty(request.headers['user-agent'])
      ? reply.code(200).type('application/json').send({})
      : reply.code(204).send()
  return reply
    .code(status)
    .type('application/json')
    .send(toOriginalBody(requestedPath(request), result))
}
