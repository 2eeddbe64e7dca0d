import type { RequestListener } from 'node:http'
import type { TestContext } from 'node:test'
import { sendHttps, type TestRequest, type TestResponse } from '../../../test/support/https-client.ts'
import { startHttp } from '../../../test/support/local-server.ts'
import { HttpsEdge, HttpsRoute, TunnelGroupBackend } from '../../resources/index.ts'
import type { Edge, EdgeConfig, EdgeDependencies } from '../edge.ts'
import { createTestCertificates } from './certificates.ts'
import { TestConfiguration } from './configuration.ts'
import { startEdge } from './edge.ts'
import { createLocalTunnel, type LocalTunnel, TestTunnels } from './tunnels.ts'

export const HOST = 'shop.adit.localhost'

/** An HTTPS edge with one route to a labelled tunnel, and a client for it. */
export interface HttpsEdgeHarness {
  readonly edge: Edge
  readonly config: TestConfiguration
  readonly tunnels: TestTunnels
  readonly tunnel: LocalTunnel
  readonly ca: string
  readonly port: number
  readonly tlsPort: number
  readonly edgeId: string
  readonly routeId: string
  readonly backendId: string
  sendRequest(question?: Partial<TestRequest>): Promise<TestResponse>
}

/** Responds with the request as JSON. */
export const echo: RequestListener = (request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const { method, url, headers } = request
    const body = Buffer.concat(chunks).toString()
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ method, url, headers, body }))
  })
}

export async function startHttpsEdge(
  t: TestContext,
  listener: RequestListener = echo,
  options: { config?: Partial<EdgeConfig>; dependencies?: Partial<EdgeDependencies> } = {},
): Promise<HttpsEdgeHarness> {
  const tunnels = new TestTunnels()
  const tunnel = createLocalTunnel(await startHttp(t, listener), { labels: { app: 'shop' } })
  tunnels.tunnels.push(tunnel)
  const { ca, lookup } = await createTestCertificates('adit.localhost')
  const { edge, port, tlsPort } = await startEdge(t, tunnels, options.config, {
    certificates: lookup,
    ...options.dependencies,
  })
  const config = new TestConfiguration(edge)
  const backendId = config.create(TunnelGroupBackend, { labels: { app: 'shop' } })
  const edgeId = config.create(HttpsEdge, { hostports: [`${HOST}:443`] })
  const routeId = config.create(HttpsRoute, {
    edge_id: edgeId,
    match_type: 'path_prefix',
    match: '/',
    backend: { backend_id: backendId },
  })
  await config.waitUntilApplied()
  const sendRequest = (request: Partial<TestRequest> = {}) =>
    sendHttps(tlsPort, ca, { host: HOST, ...request })
  return {
    edge,
    config,
    tunnels,
    tunnel,
    ca,
    port,
    tlsPort,
    edgeId,
    routeId,
    backendId,
    sendRequest,
  }
}
