import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Response } from 'undici'
import { connect } from '../../src/agent/index.ts'
import { cleanEnv } from '../../src/agent/testing/program.ts'
import { sendHttps } from '../../src/edge/testing/client.ts'
import { CookieClient } from '../support/browser-client.ts'
import { eventually, eventuallyEqual } from '../support/eventually.ts'
import { findFreePorts } from '../support/free-ports.ts'
import { startPlatform, type TestPlatform } from '../support/platform.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { CLIENT_SECRET, signIn, startProvider } from './openid-provider.ts'
import { createAppRoute, startHeaderEcho } from './protected-route.ts'

type PickNode = (url: URL) => TestPlatform

/** Starts two nodes on one database behind one public address, and an OpenID provider. */
async function startNodes(t: TestContext) {
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
  const { issuer } = await startProvider(t, `https://idp.adit.localhost:${publicPort}/oauth2/callback`)
  const port = await startHeaderEcho(t)

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
    await agent.forward({ addr: port, url: 'https://agent.adit.localhost', oidc })
    const url = `https://agent.adit.localhost:${publicPort}/page`
    await waitForStatus(url, 302)
    return { url, agent }
  }

  return { first, second, browser, waitForStatus, protectRoute, protectEndpoint }
}

const isLoginHost = ({ hostname }: URL) => hostname === 'idp.adit.localhost'
const isTicket = ({ searchParams }: URL) => searchParams.has('ticket')

test('a sign-in can begin, be redeemed and complete on different nodes, exactly once', async (t) => {
  const { first, second, browser, protectRoute, protectEndpoint } = await startNodes(t)
  for (const { url } of [await protectRoute(), await protectEndpoint()]) {
    const balancers: Record<string, PickNode> = {
      'redeemed elsewhere': (requestedUrl) => (isLoginHost(requestedUrl) ? second : first),
      'completed elsewhere': (requestedUrl) => (isTicket(requestedUrl) ? first : second),
    }
    for (const [title, pick] of Object.entries(balancers)) {
      const client = browser(pick)
      const ticketCookies: string[] = []
      const once = client.once.bind(client)
      client.once = (requestedUrl, init) => {
        if (isTicket(new URL(requestedUrl))) ticketCookies.push(...client.cookies(new URL(requestedUrl).host))
        return once(requestedUrl, init)
      }
      const page = await signIn(client, url)
      assert.equal(page.status, 200, `${url} ${title}: ${page.text}`)
      assert.match(page.text, /"adit-auth-user-id":"ada"/)

      const ticket = page.way.find((address) => isTicket(new URL(address))) ?? ''
      const callback = page.way.find((address) => isLoginHost(new URL(address))) ?? ''
      for (const node of [first, second]) {
        // With every cookie the browser had when it used the ticket.
        const cookie = ticketCookies.join('; ')
        for (const [used, init] of [[ticket, { headers: { cookie } }] as const, [callback, {}] as const]) {
          const replayer = browser(() => node)
          const replay = await replayer.once(used, init)
          // The page, or an error where the other node redeemed the code.
          assert.ok([303, 403].includes(replay.status), `${url} ${title}: ${used} again: ${replay.status}`)
          assert.equal((await replayer.once(url)).status, 302, 'leads back without a session')
        }
      }
    }
  }
})

test('a state is invalid on every node once its module has changed or its agent has disconnected', async (t) => {
  const { first, second, browser, waitForStatus, protectRoute, protectEndpoint } = await startNodes(t)
  const [route, endpoint] = [await protectRoute(), await protectEndpoint()]
  const begin = async (url: string) => {
    const client = browser(() => first)
    const response = await client.once(url)
    await response.text()
    return { client, location: response.headers.get('location') ?? '' }
  }
  const signIns = [await begin(route.url), await begin(endpoint.url)]

  assert.equal((await first.call('DELETE', route.module)).status, 204)
  await endpoint.agent.close()
  await waitForStatus(route.url, 200)
  await waitForStatus(endpoint.url, 404)

  for (const { client, location } of signIns) {
    const page = await signIn(client, location)
    assert.equal(page.status, 403)
    const callback = page.way.at(-1) ?? ''
    assert.ok(isLoginHost(new URL(callback)), 'it goes no further')
    assert.equal((await browser(() => second).once(callback)).status, 403)
  }
})

test('a session that is deleted at one node has ended at the other', async (t) => {
  const { first, second, browser, protectRoute, protectEndpoint } = await startNodes(t)
  for (const { url } of [await protectRoute(), await protectEndpoint()]) {
    const client = browser(() => second)
    assert.equal((await signIn(client, url)).status, 200)
    const session = await eventually(async () => {
      const { body } = await first.call('GET', '/app/sessions')
      return body.application_sessions[0]
    })
    assert.equal(session.public_url, new URL(url).origin)

    assert.equal((await first.call('DELETE', `/app/sessions/${session.id}`)).status, 204)

    await eventuallyEqual(async () => (await client.once(url)).status, 302)
  }
})
