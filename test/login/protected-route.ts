import type { TestContext } from 'node:test'
import { startHttp } from '../support/local-server.ts'
import type { TestPlatform } from '../support/platform.ts'

/** Starts a service that answers with the headers it receives; returns its port. */
export function startHeaderEcho(t: TestContext): Promise<number> {
  return startHttp(t, (request, response) => response.end(JSON.stringify(request.headers)))
}

/** Creates a route at app.adit.localhost with these modules, to the service at this port. */
export async function createAppRoute(
  { call }: Pick<TestPlatform, 'call'>,
  port: number,
  modules: Record<string, unknown>,
) {
  await call.create('/reserved_domains', { domain: 'app.adit.localhost' })
  const backend = await call.create('/backends/static', { address: `127.0.0.1:${port}` })
  const edge = await call.create('/edges/https', { hostports: ['app.adit.localhost:443'] })
  const route = await call.create(`/edges/https/${edge.id}/routes`, {
    match_type: 'path_prefix',
    match: '/',
    backend: { backend_id: backend.id },
    ...modules,
  })
  return { edge, route }
}
