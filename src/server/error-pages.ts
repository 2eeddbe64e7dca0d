import type { FastifyInstance } from 'fastify'
import { problem } from '../api/index.ts'
import { findError, loadErrorCatalogue, renderErrorList, renderErrorPage } from '../errors/index.ts'

const CONTENT_SECURITY_POLICY =
  "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Mounts the explanation of every error code below `/docs/errors`. It needs no key: a code holds no secret. */
export function mountErrorPages(http: FastifyInstance): void {
  const headers = {
    'content-security-policy': CONTENT_SECURITY_POLICY,
    'content-type': 'text/html; charset=utf-8',
  }
  http.get('/docs/errors', async (_request, reply) =>
    reply.headers(headers).send(renderErrorList(await loadErrorCatalogue())),
  )
  http.get<{ Params: { code: string } }>('/docs/errors/:code', async ({ params, url }, reply) => {
    const entry = findError(await loadErrorCatalogue(), params.code)
    if (entry === undefined) throw problem('no_route', url.split('?')[0]!)
    return reply.headers(headers).send(renderErrorPage(entry))
  })
}
