import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connect } from 'node:tls'
import { acceptUpgrade, upgradeRequest } from '../../src/edge/testing/web-socket.ts'
import { CookieClient } from '../support/browser-client.ts'
import { eventuallyEqual } from '../support/eventually.ts'
import { startPlatform, type TestPlatform } from '../support/platform.ts'
import { startNodes } from './openid-nodes.ts'
import { confirmSignOut, createProtectedRoute, signIn, startProvider } from './openid-provider.ts'

/** A provider that reports sign-outs to this address, with the id of its session. */
function startReportingProvider(
  t: TestContext,
  platform: TestPlatform,
  redirectUri: string,
  backchannel_logout_uri: string,
) {
  return startProvider(t, redirectUri, {
    client: { backchannel_logout_uri, backchannel_logout_session_required: true },
    configuration: {
      features: { devInteractions: { enabled: true }, backchannelLogout: { enabled: true } },
      async fetch(
        url: URL,
        { method, headers, body }: { method: string; headers: Record<string, string>; body: unknown },
      ) {
        const init = { method, headers: Object.fromEntries(new Headers(headers)) }
        const response = await platform.fetch(String(url), { ...init, body: String(body) })
        return new Response(await response.text(), { status: response.status })
      },
    },
  })
}

/** A service that answers requests and accepts every WebSocket. */
async function startUpstream(t: TestContext): Promise<number> {
  const server = createServer((_request, response) => response.end('hello'))
  server.on('upgrade', (_request, socket) => {
    socket.on('error', () => {})
    socket.write(acceptUpgrade())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** Opens a WebSocket at a port; returns what settles when it closes. */
async function openSocket(
  t: TestContext,
  node: TestPlatform,
  port: number,
  url: string,
  browser: CookieClient,
) {
  const { host, hostname } = new URL(url)
  const socket = connect({ port, host: '127.0.0.1', servername: hostname, ca: node.caPem })
  t.after(() => socket.destroy())
  const head = upgradeRequest(host, '/page').replace(
    '\r\n\r\n',
    `\r\nCookie: ${browser.cookies(host).join('; ')}\r\n\r\n`,
  )
  socket.write(head)
  const [chunk] = (await once(socket, 'data')) as [Buffer]
  assert.match(chunk.toString(), /^HTTP\/1\.1 101/)
  // The edge breaks it off, as a client sees by a reset.
  socket.on('error', () => {})
  return { closed: new Promise((resolve) => socket.once('close', resolve)) }
}

/** Signs out at the provider itself. */
async function signOutAtProvider(browser: CookieClient, issuer: string): Promise<void> {
  const location = await confirmSignOut(browser, await browser.get(`${issuer}/session/end`))
  assert.ok(location.startsWith(issuer), location)
}

test('a sign-out at the provider ends the sessions of the application on every node, WebSockets too', async (t) => {
  const { second, secondPort, issuer, browser, protectRoute, protectEndpoint } = await startNodes(t, {
    provide: ({ redirectUri, backchannelLogoutUri, first }) =>
      startReportingProvider(t, first, redirectUri, backchannelLogoutUri),
    upstream: startUpstream,
  })
  const [route, endpoint] = [await protectRoute(), await protectEndpoint()]
  const [ada, eve] = [browser(() => second), browser(() => second)]
  for (const { url } of [route, endpoint]) assert.equal((await signIn(ada, url)).status, 200)
  assert.equal((await signIn(eve, route.url, 'eve')).status, 200)
  const socket = await openSocket(t, second, secondPort, route.url, ada)

  await signOutAtProvider(ada, issuer)

  await socket.closed
  for (const { url } of [route, endpoint])
    await eventuallyEqual(async () => (await ada.once(url)).status, 302)
  assert.equal((await eve.once(route.url)).status, 200, 'another person')
})

test('the sessions of a person who has signed out at the provider are not listed any more', async (t) => {
  const platform = await startPlatform(t, ['--outbound-allow', '127.0.0.1'])
  const { url, path, oidc } = await createProtectedRoute(t, platform)
  const idpUrl = `https://idp.adit.localhost:${new URL(url).port}`
  const { issuer } = await startReportingProvider(
    t,
    platform,
    `${idpUrl}/oauth2/callback`,
    `${idpUrl}/oidc/backchannel-logout/${path.split('/').at(-1)}`,
  )
  await platform.call('PUT', `${path}/oidc`, { body: { ...oidc, issuer } })
  const list = async () => (await platform.call('GET', '/app/sessions')).body.application_sessions
  const [first, second] = [new CookieClient(platform), new CookieClient(platform)]
  for (const browser of [first, second])
    await eventuallyEqual(async () => (await signIn(browser, url)).status, 200)
  await eventuallyEqual(async () => (await list()).length, 2)

  await signOutAtProvider(first, issuer)

  await eventuallyEqual(async () => (await first.once(url)).status, 302)
  assert.equal((await second.once(url)).status, 200, 'the session of another browser')
  assert.equal((await list()).length, 1)
})
