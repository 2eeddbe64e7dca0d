import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { TSchema } from 'typebox'
import type { Logger } from '../../base/process/log.ts'
import type { Clock } from '../../base/values/clock.ts'
import { hasRole } from '../../resources/index.ts'
import type { Store } from '../../store/index.ts'
import { type ApiCall, createRenderContext } from '../call.ts'
import type { ApiConfig, ApiDependencies } from '../config.ts'
import { auditEntry } from '../crud/crud.ts'
import type { ApiOperation } from '../crud/operations.ts'
import { readPage } from '../crud/paging.ts'
import { problem } from '../problems.ts'
import { roleProblem } from '../roles.ts'
import { requirePrincipal } from './authenticate.ts'
import type { RecordCall } from './record-calls.ts'
import { declaresBody, rejectsBody, requestedPath } from './request-body.ts'

/** The role that may change a secret may also read it, where the API returns secrets. */
const ROLE_FOR_SECRETS = 'developer'

interface MountOptions {
  readonly store: Store
  readonly dependencies: ApiDependencies
  readonly config: ApiConfig
  readonly clock: Clock
  readonly log: Logger
  readonly authenticate: onRequestHookHandler
  readonly createRecorder: (operation: ApiOperation) => RecordCall
}

/** Makes a route of each operation: authenticate, check role and body, run, record, respond. */
export function mountOperations(
  http: FastifyInstance,
  operations: readonly ApiOperation[],
  options: MountOptions,
): void {
  const createCall = createCallFactory(options)
  for (const operation of operations) mountOperation(http, operation, options, createCall)
}

type CallFactory = (request: FastifyRequest, operation: ApiOperation) => ApiCall

function createCallFactory({ store, dependencies, config, clock, log }: MountOptions): CallFactory {
  const withSecrets = createRenderContext(config.apiUrl, true)
  const withoutSecrets = createRenderContext(config.apiUrl)
  return (request, operation) => {
    const principal = requirePrincipal(request)
    const { role, channel } = principal
    // Pages read lists again and again, and show no secret of an item: each would be a record that a person saw them.
    const isPageList = channel === 'dashboard' && operation.paged !== undefined
    return {
      principal,
      operation,
      operationId: request.id,
      source: request.ip,
      store,
      dependencies,
      config,
      clock,
      log,
      renderContext: !isPageList && hasRole(role, ROLE_FOR_SECRETS) ? withSecrets : withoutSecrets,
      dialect: request.dialect,
      secrets: { shown: false },
      warnings: [],
    }
  }
}

function mountOperation(
  http: FastifyInstance,
  operation: ApiOperation,
  { store, authenticate, createRecorder }: MountOptions,
  createCall: CallFactory,
): void {
  const mutates = operation.method !== 'GET'
  const record = createRecorder(operation)
  const { body } = operation
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
        page: readPage(request.query as Record<string, unknown>, operation),
        body: (request.body ?? {}) as Record<string, unknown>,
      })
      if (call.secrets.shown && !mutates) await store.write({}, (tx) => tx.audit(auditEntry(call, params.id)))
      record(request, operation.status)
      if (call.warnings.length > 0) reply.header('warning', call.warnings.map(warningField))
      const { ownerId } = call.principal
      const answer = request.dialect.write(
        { status: operation.status, body: result },
        { path: requestedPath(request), ownerId },
      )
      return reply.code(answer.status).send(answer.body)
    },
  })
}

/** RFC 7234 section 5.5, as Kubernetes uses it: clients that know no warnings ignore the field. */
const warningField = (warning: string) =>
  `299 - "${warning.replace(/[^\x20-\x7e]/g, '?').replace(/["\\]/g, '\\$&')}"`

/** The fields of a body whose empty string means unset. */
function emptyMeansUnset(body: TSchema | undefined): string[] {
  const { properties = {} } = (body ?? {}) as { properties?: Record<string, Record<string, unknown>> }
  return Object.keys(properties).filter((name) => properties[name]!['x-empty-means-unset'] === true)
}

function dropEmpty(body: unknown, name: string): void {
  const fields = body as Record<string, unknown> | null
  if (fields?.[name] === '') delete fields[name]
}
