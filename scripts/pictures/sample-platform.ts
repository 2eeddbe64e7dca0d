import { request } from 'node:https'
import type { TestContext } from 'node:test'
import { cleanEnv } from '../../test/support/agent-process.ts'
import { findFreePorts } from '../../test/support/free-ports.ts'
import { startHttp } from '../../test/support/local-server.ts'
import { startPlatform } from '../../test/support/platform.ts'
import { createTempDir } from '../../test/support/temp-dir.ts'
import { startAgent } from '../../test/web/served.ts'

const DOMAIN = 'tunnel.example'
const SHOP = `shop.${DOMAIN}`

/** A platform with a shop behind an edge: two versions by weight, behind a few modules. */
export async function startSamplePlatform(t: TestContext) {
  const httpsPort = await findFreePorts(1)
  const platform = await startPlatform(t, [
    ...['--domain', DOMAIN, '--https-addr', `127.0.0.1:${httpsPort}`],
    ...['--public-http-port', '80', '--public-https-port', '443'],
  ])
  const { call } = platform
  await call.create('/reserved_domains', { domain: SHOP })
  const version = async (name: string) => {
    const labels = { app: 'shop', version: name }
    const port = await startHttp(t, (_req, response) => response.end(name))
    const agent = await startAgent(t, platform)
    await agent.forward({ addr: port, labels: Object.entries(labels).map((pair) => pair.join('=')) })
    const description = `Version ${name}`
    return (await call.create('/backends/tunnel_group', { description, labels })).id
  }
  const [blue, green] = [await version('blue'), await version('green')]
  const backend = await call.create('/backends/weighted', {
    description: 'Shop, by weight',
    backends: { [blue]: 90, [green]: 10 },
  })
  const office = await call.create('/ip_policies', { description: 'Everyone but bots' })
  await call.create('/ip_policy_rules', { ip_policy_id: office.id, action: 'allow', cidr: '0.0.0.0/0' })
  const edge = await call.create('/edges/https', { description: 'Shop', hostports: [`${SHOP}:443`] })
  await call.create(`/edges/https/${edge.id}/routes`, {
    match_type: 'path_prefix',
    match: '/',
    backend: { enabled: true, backend_id: backend.id },
    ip_restriction: { enabled: true, ip_policy_ids: [office.id] },
    circuit_breaker: { enabled: true },
    compression: { enabled: true },
    response_headers: { enabled: true, add: { 'strict-transport-security': 'max-age=31536000' } },
  })

  /** Sends a request as a visitor does; resolves with its status. */
  const visit = (host: string, path: string, options: { method?: string; body?: string } = {}) =>
    new Promise<number>((resolve, reject) => {
      const { method = 'GET', body = '' } = options
      const headers = { host, 'user-agent': 'Mozilla/5.0', 'content-type': 'application/json' }
      const visitor = request({
        ...{ host: '127.0.0.1', port: httpsPort, servername: host, path, method },
        ...{ headers, rejectUnauthorized: false },
      })
      visitor.on('error', reject).on('response', (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0))
      })
      visitor.end(body)
    })
  return {
    platform,
    edge,
    shop: SHOP,
    domain: DOMAIN,
    visit,
    env: cleanEnv(createTempDir(), { ADIT_DATA_DIR: platform.dataDir }),
  }
}

/** A service that receives webhooks, as the one of the guide does. */
export function startWebhookService(t: TestContext): Promise<number> {
  return startHttp(t, (incoming, response) => {
    const isKnown = incoming.url !== '/favicon.ico'
    response.statusCode = isKnown ? (incoming.method === 'POST' ? 202 : 200) : 404
    response.setHeader('content-type', 'application/json')
    incoming.resume().on('end', () => response.end(JSON.stringify({ received: isKnown, path: incoming.url })))
  })
}
