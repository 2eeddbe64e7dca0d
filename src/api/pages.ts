import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import type { Registry } from 'prom-client'
import { createOpenApi } from './openapi.ts'
import { isStrict, type Probes } from './probes.ts'
import { problem } from './problems.ts'
import { referencePage, referenceScript, referenceStyle } from './reference-page.ts'

const CONTENT_SECURITY_POLICY =
  "default-src 'none'; style-src 'self'; script-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Mounts the routes beside the operations: probes, metrics and the API's own documentation. */
export function mountPages(
  http: FastifyInstance,
  {
    probes,
    authenticate,
    registry,
    renderMetrics,
    apiUrl,
    operatorAccount,
    version,
  }: {
    probes: Probes
    authenticate: onRequestHookHandler
    registry: Registry
    renderMetrics: () => Promise<string>
    apiUrl: () => string
    operatorAccount: () => string
    version: string
  },
): void {
  // Generated once per base URL: requests without a key must stay cheap.
  let documents: { url: string; json: string; page: string } | undefined
  function currentDocuments() {
    const url = apiUrl()
    if (documents?.url !== url) {
      const document = createOpenApi({ serverUrl: url, version })
      documents = { url, json: JSON.stringify(document), page: referencePage(document) }
    }
    return documents
  }

  for (const [path, probe] of probes)
    http.get(path, async ({ url }, reply) => {
      const { status, body } = await probe(isStrict(url))
      return reply.code(status).send(body)
    })
  http.get('/metrics', { onRequest: authenticate }, async ({ principal }, reply) => {
    // Metrics cover all accounts, so only the operator may read them.
    if (principal?.role !== 'admin' || principal.accountId !== operatorAccount()) throw problem('admins_only')
    return reply.type(registry.contentType).send(await renderMetrics())
  })
  http.get('/openapi.json', async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(currentDocuments().json),
  )
  http.get('/reference', async (_request, reply) =>
    reply
      .header('content-security-policy', CONTENT_SECURITY_POLICY)
      .type('text/html; charset=utf-8')
      .send(currentDocuments().page),
  )
  http.get('/reference.css', async (_request, reply) =>
    reply.type('text/css; charset=utf-8').send(referenceStyle),
  )
  http.get('/reference.js', async (_request, reply) =>
    reply.type('text/javascript; charset=utf-8').send(referenceScript),
  )
}
