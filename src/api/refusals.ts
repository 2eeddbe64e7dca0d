import type { Socket } from 'node:net'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { newId } from '../base/id.ts'
import type { Logger } from '../base/log.ts'
import { isOriginal, originalStatus } from './dialect.ts'
import { explainFailure } from './failures.ts'
import { type Problem, problem } from './problems.ts'
import type { RecordCall } from './record-calls.ts'
import type { Route } from './routes.ts'

/** The four keys every refusal has. */
function envelope(refusal: Problem, operationId: string, original: boolean) {
  const status = original ? originalStatus(refusal) : refusal.status
  return {
    error_code: `ERR_${original ? 'NGROK' : 'ADIT'}_${refusal.code}`,
    status_code: status,
    msg: refusal.message,
    details: { operation_id: operationId, ...refusal.details },
  }
}

/** What every answer carries, whoever makes it. */
export function announce(request: FastifyRequest, reply: FastifyReply): void {
  request.original = isOriginal(request.headers)
  reply.header('cache-control', 'no-store')
  reply.header(request.original ? 'ngrok-operation-id' : 'adit-operation-id', request.id)
}

/** Answers with a refusal. */
function refuse(request: FastifyRequest, reply: FastifyReply, refusal: Problem) {
  const body = envelope(refusal, request.id, request.original)
  if (body.status_code === 401) reply.header('www-authenticate', 'Bearer realm="adit"')
  reply.serializer(JSON.stringify)
  return reply.code(body.status_code).type('application/json').send(body)
}

/** What can go wrong before a route is found: an address that cannot be read, or an id longer than any. */
export function refuseUnreadable(error: FastifyError, request: FastifyRequest, reply: FastifyReply) {
  announce(request, reply) // No hook has run.
  const refusal =
    error.code === 'FST_ERR_MAX_PARAM_LENGTH'
      ? problem('no_route', `${request.url.slice(0, 80)}…`)
      : problem('bad_request', 'its address has a % that does not begin an encoded character.')
  return refuse(request, reply as unknown as FastifyReply, refusal)
}

const LINGER_MS = 1_000

/** Answers what is not even HTTP; the socket may be gone, and must not be used again. */
export function refuseConnection(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const refusal =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? problem('timeout')
      : error.code === 'HPE_HEADER_OVERFLOW'
        ? problem('head_too_large')
        : problem('bad_request', 'it is not valid HTTP.')
  const operationId = newId('op')
  const body = JSON.stringify(envelope(refusal, operationId, false))
  const head = [
    `HTTP/1.1 ${refusal.status} Refused`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    `Adit-Operation-Id: ${operationId}`,
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  // Whoever does not go by themselves has had the time to read why they should.
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}

/** Everything thrown, and every address without a route, is answered as a refusal. */
export function answerWithRefusals(
  http: FastifyInstance,
  { routes, bodyLimit, log }: { routes: readonly Route[]; bodyLimit: number; log: Logger },
): void {
  http.setErrorHandler((error: FastifyError, request, reply) => {
    const { schema, config, url, bodyLimit: ownLimit } = request.routeOptions
    const { record } = (config ?? {}) as { record?: RecordCall }
    const refusal = explainFailure(error, schema, ownLimit ?? bodyLimit)
    if (refusal === undefined)
      log.error({ err: error, operation: request.id, method: request.method, url }, 'request failed')
    const told = refusal ?? problem('internal', request.id)
    record?.(request, told.status)
    return refuse(request, reply, told)
  })

  const methods = new Map<string, string[]>()
  for (const { path, method } of routes) {
    const known = methods.get(path) ?? []
    methods.set(path, [...known, method, ...(method === 'GET' ? ['HEAD'] : [])])
  }
  const patterns = [...methods].map(([path, allowed]) => ({
    pattern: new RegExp(`^${path.replace(/\{[a-z_]+\}/g, '[^/]+')}$`),
    allowed: allowed.join(', '),
  }))
  http.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?')[0]!
    const known = patterns.find(({ pattern }) => pattern.test(path))
    if (known === undefined) return refuse(request, reply, problem('no_route', path).with({ path }))
    reply.header('allow', known.allowed)
    return refuse(request, reply, problem('method', request.method, path, known.allowed).with({ path }))
  })
}
