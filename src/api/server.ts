import fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify'
import { Registry } from 'prom-client'
import type { Principal } from '../auth/index.ts'
import type { Clock } from '../base/clock.ts'
import { newId } from '../base/id.ts'
import type { Logger } from '../base/log.ts'
import type { Store } from '../store/index.ts'
import { operations } from './all-operations.ts'
import { type Call, createShowing } from './call.ts'
import type { ApiConfig, ApiParts } from './config.ts'
import { isCommand, isOriginal, needsObjectForEmpty, originalStatus, readBody, writeBody } from './dialect.ts'
import { explainFailure } from './failures.ts'
import { createApiMetrics } from './metrics.ts'
import { createOpenApi } from './openapi.ts'
import type { Operation } from './operations.ts'
import { readPage } from './paging.ts'
import { type Problem, problem } from './problems.ts'
import { createRateLimit } from './rate-limit.ts'
import { referencePage, referenceScript, referenceStyle } from './reference-page.ts'
import { parseStrictJson } from './strict-json.ts'

declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal | undefined
    original: boolean
  }
}

const BODY_LIMIT = 1024 * 1024
// The limits guard our own work, not the secrecy of tokens, which have 256 random bits.
const FAILED_LOGINS = { perMinute: 120, burst: 1000 }
const REFUSALS_AUDITED = { perMinute: 60, burst: 120 }

/** The management API on its listener. */
export interface Api {
  /** Binds the address and answers with the one really bound. */
  listen(address: { host: string; port: number }): Promise<{ host: string; port: number }>
  /** Readiness as the wiring sees it: an empty list, or what is missing. */
  close(): Promise<void>
  /** The server itself, for pages that are served beside the API. */
  readonly http: FastifyInstance
}

export interface ApiOptions {
  readonly store: Store
  readonly parts: ApiParts
  readonly config: ApiConfig
  readonly clock: Clock
  readonly log: Logger
  readonly metrics?: Registry
  /** Answers when all parts are ready, throws why not otherwise. */
  readonly ready?: () => Promise<void>
}

/** Builds the API: every route comes from the list of operations. */
export function createApi(options: ApiOptions): Api {
  const { store, parts, config, clock, log } = options
  const showing = createShowing(config.apiUrl)
  const registry = options.metrics ?? new Registry()
  const metrics = createApiMetrics(registry)
  const accountLimit =
    config.rateLimit > 0
      ? createRateLimit({ perMinute: config.rateLimit, burst: config.rateLimit, clock })
      : undefined
  const failedLogins = createRateLimit({ ...FAILED_LOGINS, clock })
  const refusalsAudited = createRateLimit({ ...REFUSALS_AUDITED, clock })

  const http = fastify({
    bodyLimit: BODY_LIMIT,
    genReqId: () => newId('op', clock.now()),
    rewriteUrl: (request) => (request.url ?? '/').replace(/^[^?]*/, (path) => path.replace(/\/{2,}/g, '/')),
    requestTimeout: 30_000,
    keepAliveTimeout: 60_000,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 200, ignoreTrailingSlash: false },
    ajv: {
      customOptions: {
        coerceTypes: false,
        useDefaults: false,
        removeAdditional: false,
        allErrors: false,
        strict: false,
        allowUnionTypes: true,
      },
    },
  })
  http.decorateRequest('principal', undefined)
  http.decorateRequest('original', false)

  http.removeAllContentTypeParsers()
  http.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    const path = request.url.split('?')[0]!
    if (body === '' || (request.original && isCommand(path))) return done(null, undefined)
    try {
      const value = parseStrictJson(body as string)
      done(null, request.original ? readBody(request.method, path, value) : value)
    } catch (error) {
      done(problem('malformed_json', (error as Error).message))
    }
  })

  http.addHook('onRequest', async (request, reply) => {
    request.original = isOriginal(request.headers)
    reply.header('cache-control', 'no-store')
    reply.header(request.original ? 'ngrok-operation-id' : 'adit-operation-id', request.id)
    const version = request.headers[request.original ? 'ngrok-version' : 'service-version']
    if (version !== undefined && version !== '2') throw problem('version', String(version))
  })

  async function authenticate(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const principal = await recognise(request, reply)
    request.principal = principal
    if (!principal.active) throw problem('inactive')
    const wait = accountLimit?.take(principal.accountId) ?? 0
    if (wait > 0) {
      reply.header('retry-after', String(wait))
      throw problem('too_many_requests', wait)
    }
  }

  async function recognise(request: FastifyRequest, reply: FastifyReply): Promise<Principal> {
    const header = request.headers.authorization
    if (header === undefined) throw problem('no_key')
    const token = /^Bearer +([^\s]+)$/i.exec(header)?.[1]
    if (token === undefined) throw problem('bad_authorization')
    const principal = await parts.auth.apiKey(token)
    if (principal !== undefined) return principal
    const wait = failedLogins.take(request.ip)
    if (wait > 0) {
      reply.header('retry-after', String(wait))
      throw problem('too_many_requests', wait)
    }
    if ((await parts.auth.authtoken(token)) !== undefined) throw problem('authtoken_as_key')
    throw problem('unknown_key')
  }

  function callOf(request: FastifyRequest): Call {
    return {
      principal: request.principal!,
      operationId: request.id,
      source: request.ip,
      store,
      parts,
      config,
      clock,
      log,
      showing,
    }
  }

  function mount(operation: Operation): void {
    const mutates = operation.method !== 'GET'
    http.route({
      method: operation.method,
      url: operation.path.replace(/\{([a-z_]+)\}/g, ':$1'),
      config: { operation: operation.id },
      schema: {
        ...(operation.body && { body: operation.body }),
        ...(operation.answer && { response: { [operation.status]: operation.answer } }),
      },
      onRequest: [
        authenticate,
        async ({ principal }) => {
          if (mutates && principal?.role === 'read_only') throw problem('read_only')
          if (operation.adminOnly && principal?.role !== 'admin') throw problem('admins_only')
        },
      ],
      preValidation: async (request) => {
        if (operation.body !== undefined) request.body ??= {}
        else if (request.body !== undefined && !request.original)
          throw problem('body_unexpected', operation.method)
      },
      handler: async (request, reply) => {
        const answer = await operation.run(callOf(request), {
          params: request.params as Record<string, string>,
          page: readPage(
            request.query as Record<string, unknown>,
            operation.paged ?? false,
            request.original,
          ),
          body: (request.body ?? {}) as Record<string, unknown>,
        })
        return send(request, reply, operation.status, answer)
      },
    })
  }

  function send(request: FastifyRequest, reply: FastifyReply, status: number, answer: unknown) {
    if (!request.original) return reply.code(status).send(answer)
    reply.serializer(JSON.stringify)
    if (status === 204)
      return needsObjectForEmpty(request.headers['user-agent'])
        ? reply.code(200).type('application/json').send({})
        : reply.code(204).send()
    return reply.code(status).type('application/json').send(writeBody(answer))
  }

  function refuse(request: FastifyRequest, reply: FastifyReply, refusal: Problem) {
    const status = request.original ? originalStatus(refusal.status) : refusal.status
    if (status === 401) reply.header('www-authenticate', 'Bearer realm="adit"')
    reply.serializer(JSON.stringify)
    return reply
      .code(status)
      .type('application/json')
      .send({
        error_code: `ERR_${request.original ? 'NGROK' : 'ADIT'}_${refusal.code}`,
        status_code: status,
        msg: refusal.message,
        details: { operation_id: request.id, ...refusal.details },
      })
  }

  http.setErrorHandler((error: FastifyError, request, reply) => {
    const refusal = explainFailure(error, request.routeOptions.schema, BODY_LIMIT)
    if (refusal !== undefined) return refuse(request, reply, refusal)
    log.error(
      { err: error, operation: request.id, method: request.method, url: request.routeOptions.url },
      'request failed',
    )
    return refuse(request, reply, problem('internal', request.id))
  })

  const paths = new Map<string, string[]>()
  for (const { path, method } of operations) paths.set(path, [...(paths.get(path) ?? []), method])
  const patterns = [...paths].map(([path, methods]) => ({
    pattern: new RegExp(`^${path.replace(/\{[a-z_]+\}/g, '[^/]+')}$`),
    methods,
  }))
  http.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?')[0]!
    const known = patterns.find(({ pattern }) => pattern.test(path))
    if (known === undefined) return refuse(request, reply, problem('no_route', path))
    reply.header('allow', known.methods.join(', '))
    return refuse(request, reply, problem('method', request.method, path, known.methods.join(', ')))
  })

  http.addHook('onResponse', async (request, reply) => {
    const operation = (request.routeOptions.config as { operation?: string }).operation
    if (operation === undefined) return
    metrics.observe(operation, reply.statusCode, reply.elapsedTime)
    const { principal } = request
    const mutates = request.method !== 'GET' && request.method !== 'HEAD'
    log[mutates || reply.statusCode >= 500 ? 'info' : 'debug'](
      {
        operation,
        id: request.id,
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
        account: principal?.accountId,
        key: principal?.credentialId,
        ip: request.ip,
      },
      'api call',
    )
    if (!mutates || principal === undefined || reply.statusCode < 400 || reply.statusCode >= 500) return
    if (refusalsAudited.take(principal.accountId) > 0) return
    const [kind = operation, action = request.method] = [
      operation.slice(0, operation.lastIndexOf('.')),
      operation.slice(operation.lastIndexOf('.') + 1),
    ]
    await store
      .write({}, (tx) =>
        tx.audit({
          account: principal.accountId,
          principal: principal.ownerId,
          credential: principal.credentialId,
          source: request.ip,
          requestId: request.id,
          action,
          kind,
          object: (request.params as { id?: string }).id,
          outcome: 'refused',
          detail: `status ${reply.statusCode}`,
        }),
      )
      .catch((error) => log.warn({ err: error, id: request.id }, 'a refused call could not be recorded'))
  })

  for (const operation of operations) mount(operation)

  http.get('/healthz', async () => ({ status: 'ok' }))
  http.get('/readyz', async (_request, reply) => {
    try {
      await store.check()
      await options.ready?.()
      return { status: 'ready' }
    } catch (error) {
      return reply.code(503).send({ status: 'not ready', reason: (error as Error).message })
    }
  })
  http.get('/metrics', { onRequest: authenticate }, async (_request, reply) =>
    reply.type(registry.contentType).send(await registry.metrics()),
  )
  http.get('/openapi.json', async (_request, reply) => {
    reply.serializer(JSON.stringify)
    return reply
      .type('application/json')
      .send(createOpenApi({ serverUrl: config.apiUrl(), version: config.version }))
  })
  http.get('/reference', async (_request, reply) => {
    reply.header(
      'content-security-policy',
      "default-src 'none'; style-src 'self'; script-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    )
    return reply
      .type('text/html; charset=utf-8')
      .send(referencePage(createOpenApi({ serverUrl: config.apiUrl(), version: config.version })))
  })
  http.get('/reference.css', async (_request, reply) =>
    reply.type('text/css; charset=utf-8').send(referenceStyle),
  )
  http.get('/reference.js', async (_request, reply) =>
    reply.type('text/javascript; charset=utf-8').send(referenceScript),
  )

  return {
    http,
    async listen({ host, port }) {
      await http.listen({ host, port })
      const bound = http.server.address()
      if (bound === null || typeof bound === 'string') throw new Error('the API listener has no address')
      return { host: bound.address, port: bound.port }
    },
    close: () => http.close(),
  }
}
