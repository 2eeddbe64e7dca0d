import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import type { Registry } from 'prom-client'
import { problem } from '../problems.ts'
import { createOpenApi } from '../reference/openapi.ts'
import { referencePages, referenceScript, referenceStyle } from '../reference/reference-page.ts'
import { isStrict, type Probes } from './probes.ts'
import { sendPage } from './static-files.ts'

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
  let documents: ({ url: string; json: string } & ReturnType<typeof referencePages>) | undefined
  function currentDocuments() {
    const url = apiUrl()
    if (documents?.url !== url) {
      const document = createOpenApi({ serverUrl: url, version })
      documents = { url, json: JSON.stringify(document), ...referencePages(document) }
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
    sendPage(reply, 'openapi.json', currentDocuments().json),
  )
  http.get('/reference', async (_request, reply) =>
    sendPage(reply, 'reference.html', currentDocuments().list),
  )
  http.get<{ Params: { tag: string } }>('/reference/:tag', async (request, reply) => {
    const page = currentDocuments().tags.get(request.params.tag)
    return page === undefined ? reply.callNotFound() : sendPage(reply, 'reference.html', page)
  })
  http.get('/reference.css', async (_request, reply) => sendPage(reply, 'reference.css', referenceStyle))
  http.get('/reference.js', async (_request, reply) => sendPage(reply, 'reference.js', referenceScript))
}
