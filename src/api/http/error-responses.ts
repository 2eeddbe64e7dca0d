import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from '../../base/process/log.ts'
import { newId } from '../../base/values/id.ts'
import { dialectOf } from '../compat/clients.ts'
import { type ClientDialect, NATIVE } from '../compat/dialect.ts'
import { toEndpointProblem } from '../endpoint-problems.ts'
import { toProblem } from '../error-mapping.ts'
import { Problem, problem } from '../problems.ts'
import type { ApiRoute } from '../routes.ts'
import type { RecordCall } from './record-calls.ts'

/** The body of every error response. */
function errorBody(problem: Problem, operationId: string, dialect: ClientDialect) {
  const status = dialect.statusOf(problem)
  return {
    error_code: `${dialect.errorPrefix}_${problem.code}`,
    status_code: status,
    msg: problem.message,
    details: { operation_id: operationId, ...problem.details },
  }
}

/** Sets the headers of every response. */
export function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  request.dialect = dialectOf(request.headers)
  reply.header('cache-control', 'no-store')
  reply.header(request.dialect.operationIdHeader, request.id)
}

/** Sends a problem as the response. */
function sendProblem(request: FastifyRequest, reply: FastifyReply, problem: Problem) {
  const body = errorBody(problem, request.id, request.dialect)
  if (body.status_code === 401) reply.header('www-authenticate', 'Bearer realm="adit"')
  reply.serializer(JSON.stringify)
  return reply.code(body.status_code).type('application/json').send(body)
}

/** Handles errors before routing: a malformed URL, or an id longer than any. */
export function handleFrameworkError(error: FastifyError, request: FastifyRequest, reply: FastifyReply) {
  setCommonHeaders(request, reply) // No hook has run.
  const cause =
    error.code === 'FST_ERR_MAX_PARAM_LENGTH'
      ? problem('no_route', `${request.url.slice(0, 80)}…`)
      : problem('bad_request', 'its address has a % that does not begin an encoded character.')
  return sendProblem(request, reply, cause)
}

const LINGER_TIMEOUT_MS = 1_000

/** Responds to bytes that are not valid HTTP. The socket may be closed already and is not reused. */
export function handleClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const cause =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? problem('timeout')
      : error.code === 'HPE_HEADER_OVERFLOW'
        ? problem('head_too_large')
        : problem('bad_request', 'it is not valid HTTP.')
  const operationId = newId('op')
  const body = JSON.stringify(errorBody(cause, operationId, NATIVE))
  const head = [
    `HTTP/1.1 ${cause.status} ${STATUS_CODES[cause.status]}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    `Adit-Operation-Id: ${operationId}`,
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  // Lingering close: the client has had time to read the response.
  setTimeout(() => socket.destroy(), LINGER_TIMEOUT_MS).unref()
}

/** Responds to every thrown error, and to every URL without a route, with a problem. */
export function installErrorHandlers(
  http: FastifyInstance,
  { routes, bodyLimit, log }: { routes: readonly ApiRoute[]; bodyLimit: number; log: Logger },
): void {
  const methods = new Map<string, string[]>()
  for (const { path, method } of routes) {
    const allowed = methods.get(path) ?? []
    methods.set(path, [...allowed, method, ...(method === 'GET' ? ['HEAD'] : [])])
  }
  const patterns = [...methods].map(([path, allowed]) => ({
    pattern: new RegExp(`^${path.replace(/\{[a-z_]+\}/g, '[^/]+')}$`),
    allowed: allowed.join(', '),
  }))
  const rejectRoute = (request: FastifyRequest, reply: FastifyReply) => {
    const path = request.url.split('?')[0]!
    const match = patterns.find(({ pattern }) => pattern.test(path))
    if (match === undefined) return sendProblem(request, reply, problem('no_route', path).with({ path }))
    reply.header('allow', match.allowed)
    return sendProblem(request, reply, problem('method', request.method, path, match.allowed).with({ path }))
  }
  http.setNotFoundHandler(rejectRoute)

  http.setErrorHandler((error: FastifyError, request, reply) => {
    // Fastify reads the body first: QUERY needs a content type, and others a type that we accept.
    if (request.is404 && !(error instanceof Problem)) return rejectRoute(request, reply)
    const { schema, config, url, bodyLimit: routeLimit } = request.routeOptions
    const { record } = (config ?? {}) as { record?: RecordCall }
    const found = toProblem(error, schema, routeLimit ?? bodyLimit)
    const isEndpoint = url === '/endpoints' || url === '/endpoints/:id'
    const cause = found && isEndpoint ? toEndpointProblem(found, request.body) : found
    if (cause === undefined)
      log.error({ err: error, operation: request.id, method: request.method, url }, 'request failed')
    const response = cause ?? problem('internal', request.id)
    record?.(request, response.status)
    return sendProblem(request, reply, response)
  })
}
