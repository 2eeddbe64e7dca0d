import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type onRequestHookHandler,
} from 'fastify'
import { Registry } from 'prom-client'
import type { Principal } from '../../auth/index.ts'
import { acceptPending } from '../../base/io/sockets/accept-pending.ts'
import { ConcurrencyLimiter } from '../../base/io/sockets/concurrency-limiter.ts'
import { type Listen, type ListenAddress, listen as openListener } from '../../base/io/sockets/listeners.ts'
import type { Logger } from '../../base/process/log.ts'
import type { Clock } from '../../base/values/clock.ts'
import { KsuidGenerator } from '../../base/values/id.ts'
import type { Store } from '../../store/index.ts'
import { operations } from '../all-operations.ts'
import { dialectOf } from '../compat/clients.ts'
import type { ClientDialect } from '../compat/dialect.ts'
import type { ApiConfig, ApiDependencies } from '../config.ts'
import { problem } from '../problems.ts'
import { createAuthenticate } from './authenticate.ts'
import { setClientAddress } from './client-address.ts'
import { EdgeConnections, type EdgeOrigin } from './edge-connections.ts'
import {
  handleClientError,
  handleFrameworkError,
  installErrorHandlers,
  setCommonHeaders,
} from './error-responses.ts'
import { installValidation } from './lazy-validation.ts'
import { createApiMetrics } from './metrics.ts'
import { mountOperations } from './mount-operations.ts'
import { mountPages } from './pages.ts'
import { createProbes, type Probes, type Readiness } from './probes.ts'
import { type BodyReader, createBodyReader } from './read-body.ts'
import { createCallRecorder } from './record-calls.ts'
import { declaresBody, installBodyParsers } from './request-body.ts'

declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal | undefined
    dialect: ClientDialect
    /** Monotonic milliseconds. */
    startedAt: number
  }
}

/** Grace period of calls in flight when the server stops. */
const CLOSE_TIMEOUT_MS = 5_000
const MAX_BODY_BYTES = 1024 * 1024
/** The management API on its listener. */
export interface Api {
  /** Binds the address and returns the actual one. */
  listen(address: ListenAddress, listen?: Listen): Promise<{ host: string; port: number }>
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
  readonly dependencies: ApiDependencies
  readonly config: ApiConfig
  readonly clock: Clock
  readonly log: Logger
  readonly metrics?: Registry
  /** The text of `/metrics`, when it has more than `metrics`. */
  readonly renderMetrics?: () => Promise<string>
  /** Resolves once all processes of the server have applied what is committed now: calls that write wait for it. */
  readonly applied?: (() => Promise<void>) | undefined
  /** What `/readyz` says; whether the store can be read when left out. */
  readonly readiness?: Readiness
}

/** Creates the API: mounts every operation and the pages beside them. */
export function createApi(options: ApiOptions): Api {
  const { store, dependencies, config, clock, log } = options
  const registry = options.metrics ?? new Registry()
  const authenticate = createAuthenticate({
    auth: dependencies.auth,
    browserAuth: dependencies.browserAuth,
    admits: (accountId, address) => dependencies.restrictions.admits(accountId, 'api', address),
    perMinute: config.rateLimit,
    clock,
  })
  const http = createHttpServer(clock)
  const edgeConnections = new EdgeConnections(http.server)
  limitConnections(http, config)
  installValidation(http)
  const bodyReader = createBodyReader(MAX_BODY_BYTES, config.isShared)
  installBodyParsers(http, bodyReader)
  installRequestChecks(http, { config, clock, bodyReader, edgeConnections })
  if (options.applied !== undefined) awaitApplied(http, options.applied)
  installErrorHandlers(http, { routes: operations, bodyLimit: MAX_BODY_BYTES, log })
  const createRecorder = createCallRecorder({ store, metrics: createApiMetrics(registry), clock, log })
  mountOperations(http, operations, { store, dependencies, config, clock, log, authenticate, createRecorder })
  const probes = createProbes(
    options.readiness ?? { serving: () => ({ database: 'available' }), verify: store.check },
  )
  mountPages(http, {
    probes,
    authenticate,
    registry,
    renderMetrics: options.renderMetrics ?? (() => registry.metrics()),
    apiUrl: config.apiUrl,
    operatorAccount: config.operatorAccount,
    version: config.version,
  })

  return {
    http,
    authenticate,
    probes,
    async listen(listenAddress, listen = openListener) {
      await http.ready()
      const { address, port } = await listen(http.server, 'api', listenAddress)
      return { host: address, port }
    },
    start: async () => void (await http.ready()),
    connect: (origin) => edgeConnections.open(origin),
    async close() {
      await acceptPending([http.server])
      const timer = setTimeout(() => http.server.closeAllConnections(), CLOSE_TIMEOUT_MS)
      await http.close()
      clearTimeout(timer)
    },
  }
}

function createHttpServer(clock: Clock): FastifyInstance {
  const callIds = new KsuidGenerator('op')
  const http = fastify({
    bodyLimit: MAX_BODY_BYTES,
    genReqId: () => callIds.next(clock.now()),
    rewriteUrl({ url = '/', headers }) {
      const target = url.includes('//') ? normalizeTarget(url) : url
      if (target === '/' && isBrowser(headers)) return '/dashboard'
      return dialectOf(headers).readUrl(target)
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
  http.decorateRequest('principal', undefined)
  // Set with the common headers, before anything reads it.
  http.decorateRequest('dialect', undefined as unknown as ClientDialect)
  http.decorateRequest('startedAt', 0)
  return http
}

function limitConnections(
  http: FastifyInstance,
  { maxConnections = Number.POSITIVE_INFINITY, isShared }: ApiConfig,
): void {
  const limiter = new ConcurrencyLimiter({ total: maxConnections, isShared })
  // Node resolves the peer address lazily and a closed socket has none, but calls are recorded after their end.
  http.server.on('connection', (socket: Socket) => {
    limiter.admit(socket)
  })
}

/** A client that was told of a change may rely on it, at whatever process its next connection arrives. */
function awaitApplied(http: FastifyInstance, applied: () => Promise<void>): void {
  http.addHook('onSend', async ({ method }, { statusCode }) => {
    // A rejected call has changed nothing, and must not make a stranger's request cost a look at the database.
    if (method !== 'GET' && method !== 'HEAD' && statusCode < 400) await applied()
  })
}

/** What is checked of every request, of the API and of pages beside it. */
function installRequestChecks(
  http: FastifyInstance,
  {
    config,
    clock,
    bodyReader,
    edgeConnections,
  }: { config: ApiConfig; clock: Clock; bodyReader: BodyReader; edgeConnections: EdgeConnections },
): void {
  http.addHook('onRequest', (request, reply, done) => {
    request.startedAt = clock.monotonic()
    // The edge has verified the address of its client already.
    const host = edgeConnections.hostOf(request.raw.socket)
    const unknownClient =
      host === undefined && config.trustedProxies && setClientAddress(request, config.trustedProxies)
    if (declaresBody(request)) bodyReader.coalesceReads(request)
    setCommonHeaders(request, reply)
    if (unknownClient) return done(unknownClient)
    const isElsewhere =
      (host === 'api' && isDashboardRoute(request)) || (host === 'domain' && !isDownloadRoute(request))
    if (isElsewhere) return leaveForDashboard(request, reply, config)
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1')
      return done(problem('bad_request', 'it has no Host header.'))
    if (request.url.includes('%00')) return done(problem('bad_request', 'its address holds U+0000.'))
    const version = request.headers[request.dialect.versionHeader]
    done(version === undefined || version === '2' ? undefined : problem('version', String(version)))
  })
}

/**
 * The API's own host serves no pages: an operator may publish it without the dashboard. The domain itself serves what agents
 * are installed from and nothing else: any endpoint below it can set cookies for it.
 */
function leaveForDashboard(
  { method }: FastifyRequest,
  reply: FastifyReply,
  { dashboardUrl }: ApiConfig,
): void {
  const url = dashboardUrl?.()
  if (url === undefined || method !== 'GET') reply.callNotFound()
  else reply.redirect(url)
}

/**
 * Normalises the request target. Clients of a proxy send the absolute form (RFC 9112 section 3.2.2), and some clients
 * join a base URL that ends in a slash with a path that begins with one.
 */
function normalizeTarget(target: string): string {
  const path = target.replace(/^https?:\/\/[^/?#]*\/?/i, '/')
  return path.replace(/^[^?]*/, (path) => path.replace(/\/{2,}/g, '/'))
}

/** A browser that opens the address of the API, in contrast to a client that asks what the API holds. */
function isBrowser({ accept, authorization }: IncomingHttpHeaders): boolean {
  return authorization === undefined && accept?.includes('text/html') === true
}

/** By the matched route: a path has many spellings. */
function isDashboardRoute({ routeOptions: { url = '' } }: FastifyRequest): boolean {
  return url === '/dashboard' || url.startsWith('/dashboard/')
}

function isDownloadRoute({ routeOptions: { url = '' } }: FastifyRequest): boolean {
  return url === '/install.sh' || url === '/download' || url.startsWith('/download/')
}
