import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Response } from 'undici'
import { connect } from '../../src/agent/index.ts'
import { cleanEnv } from '../support/agent-process.ts'
import { CookieClient } from '../support/browser-client.ts'
import { eventuallyEqual } from '../support/eventually.ts'
import { findFreePorts } from '../support/free-ports.ts'
import { sendHttps } from '../support/https-client.ts'
import { startPlatform, type TestPlatform } from '../support/platform.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { CLIENT_SECRET, startProvider } from './openid-provider.ts'
import { createAppRoute, startHeaderEcho } from './protected-route.ts'

export type PickNode = (url: URL) => TestPlatform

/** The addresses that are known before the provider starts. */
interface Addresses {
  readonly redirectUri: string
  /** For the endpoint of an agent. */
  readonly backchannelLogoutUri: string
  readonly first: TestPlatform
}

const AGENT_HOST = 'agent.adit.localhost'

/** Starts two nodes on one database behind one public address, and an OpenID provider that all pages share. */
export async function startNodes(
  t: TestContext,
  {
    provide = ({ redirectUri }) => startProvider(t, redirectUri),
    upstream = startHeaderEcho,
  }: {
    provide?: (addresses: Addresses) => Promise<{ issuer: string }>
    upstream?: (t: TestContext) => Promise<number>
  } = {},
) {
  const flags = ['--database-url', (await createTestDatabase(t)).url, '--outbound-allow', '127.0.0.1']
  const first = await startPlatform(t, flags)
  // The public port is that of the first node.
  const publicPort = new URL(first.credentials.https_url).port
  const secondPort = await findFreePorts(1)
  const second = await startPlatform(t, [
    ...flags,
    ...['--master-key-file', join(first.dataDir, 'master.key')],
    ...['--https-addr', `127.0.0.1:${secondPort}`, '--public-https-port', publicPort],
  ])
  const idpUrl = `https://idp.adit.localhost:${publicPort}`
  const { issuer } = await provide({
    redirectUri: `${idpUrl}/oauth2/callback`,
    backchannelLogoutUri: `${idpUrl}/oidc/backchannel-logout/${AGENT_HOST}`,
    first,
  })
  const port = await upstream(t)

  /** Creates a browser behind a load balancer that picks the node for each request. */
  function browser(pick: PickNode): CookieClient {
    const fetch: TestPlatform['fetch'] = async (url, init = {}) => {
      const { hostname, host, pathname, search } = new URL(url)
      if (!hostname.endsWith('.adit.localhost')) return first.fetch(url, init)
      const node = pick(new URL(url))
      const port = node === second ? secondPort : Number(publicPort)
      const reply = await sendHttps(port, node.caPem, {
        host,
        servername: hostname,
        path: `${pathname}${search}`,
        headers: init.headers as Record<string, string>,
      })
      const headers = Object.entries(reply.headers).flatMap(([name, values]) =>
        [values ?? []].flat().map((value): [string, string] => [name, value]),
      )
      return new Response(reply.text, { status: reply.status, headers })
    }
    return new CookieClient({ ...first, fetch })
  }

  /** Retries until both nodes answer with the status: changes reach the other node shortly after. */
  async function waitForStatus(url: string, status: number): Promise<void> {
    for (const node of [first, second])
      await eventuallyEqual(async () => {
        const response = await browser(() => node).once(url)
        await response.text()
        return response.status
      }, status)
  }

  async function protectRoute() {
    const oidc = { issuer, client_id: 'app', client_secret: CLIENT_SECRET }
    const { edge, route } = await createAppRoute(first, port, { oidc })
    const url = `https://app.adit.localhost:${publicPort}/page`
    await waitForStatus(url, 302)
    return { url, module: `/edges/https/${edge.id}/routes/${route.id}/oidc` }
  }

  /** Creates a protected endpoint of an agent connected to the first node. */
  async function protectEndpoint() {
    const agent = await connect({
      env: cleanEnv(createTempDir(), {}),
      connectUrl: first.credentials.agent_addr,
      authtoken: first.credentials.authtoken,
      rootCas: first.credentials.ca_file,
    })
    t.after(() => agent.close())
    const oidc = { issuer_url: issuer, client_id: 'app', client_secret: CLIENT_SECRET }
    await agent.forward({ addr: port, url: `https://${AGENT_HOST}`, oidc })
    const url = `https://${AGENT_HOST}:${publicPort}/page`
    await waitForStatus(url, 302)
    return { url, agent }
  }

  return { first, second, secondPort, issuer, browser, waitForStatus, protectRoute, protectEndpoint }
}
