import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { CookieClient } from '../support/browser-client.ts'
import { startPlatform, type TestPlatform } from '../support/platform.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { startSamlRoute } from './saml-route.ts'

type SamlRoute = Awaited<ReturnType<typeof startSamlRoute>>

/** Starts a SAML route on a database that other nodes can join. */
async function startFirstNode(t: TestContext) {
  const flags = ['--database-url', (await createTestDatabase(t)).url]
  const samlRoute = await startSamlRoute(t, {}, flags)
  const key = join(samlRoute.platform.dataDir, 'master.key')
  const startAnother = () =>
    startPlatform(t, ['--outbound-allow', '127.0.0.1', '--master-key-file', key, ...flags])
  return { ...samlRoute, startAnother }
}

/** Requests the page on a node with cookies copied from the browser. */
async function visit(node: TestPlatform, cookies: readonly string[]): Promise<number> {
  const url = `https://app.adit.localhost:${new URL(node.credentials.https_url).port}/page`
  const response = await node.fetch(url, {
    redirect: 'manual',
    headers: { accept: 'text/html', cookie: cookies.join('; ') },
  })
  await response.text()
  return response.status
}

function copyCookies({ browser, url }: Pick<SamlRoute, 'browser' | 'url'>): string[] {
  return browser.cookies(new URL(url).host)
}

test('signing out on one node ends the session on every node, and on nodes that start later', async (t) => {
  const samlRoute = await startFirstNode(t)
  const second = await samlRoute.startAnother()
  await samlRoute.attempt()
  const endedCookies = copyCookies(samlRoute)
  assert.equal(await visit(second, endedCookies), 200, 'a session counts on every node')
  const other = new CookieClient(samlRoute.platform)
  await samlRoute.signIn(other)
  const liveCookies = copyCookies({ ...samlRoute, browser: other })

  await samlRoute.browser.once(`${samlRoute.url}/auth/logout`)

  assert.equal(await visit(samlRoute.platform, endedCookies), 302)
  assert.equal(await visit(second, endedCookies), 302)
  const third = await samlRoute.startAnother()
  assert.deepEqual([await visit(third, endedCookies), await visit(third, liveCookies)], [302, 200])
  assert.equal(await visit(second, liveCookies), 200)
})

test('a sign-out at the provider ends the sessions of that person on every node', async (t) => {
  const samlRoute = await startFirstNode(t)
  const second = await samlRoute.startAnother()
  await samlRoute.attempt()
  const cookies = copyCookies(samlRoute)
  assert.equal(await visit(second, cookies), 200)

  await samlRoute.browser.once(await samlRoute.idp.signOut(samlRoute.saml.single_logout_url, 'ada-id'))

  assert.equal(await visit(second, cookies), 302)
})

test('a provider response used on one node is rejected on every other', async (t) => {
  const samlRoute = await startFirstNode(t)
  const second = await samlRoute.startAnother()
  const acs = (node: TestPlatform) => {
    const url = new URL(samlRoute.saml.assertion_consumer_service_url)
    url.port = new URL(node.credentials.https_url).port
    return url.href
  }
  const deliver = async (node: TestPlatform, body: string) => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const response = await node.fetch(acs(node), { method: 'POST', redirect: 'manual', headers, body })
    await response.text()
    return response.status
  }
  const form = async () => {
    const xml = await samlRoute.idp.respond(
      samlRoute.saml.entity_id,
      samlRoute.saml.assertion_consumer_service_url,
    )
    const SAMLResponse = Buffer.from(xml).toString('base64')
    return new URLSearchParams({ SAMLResponse, RelayState: `${samlRoute.url}/page` }).toString()
  }
  const [first, other] = [await form(), await form()]

  assert.equal(await deliver(samlRoute.platform, first), 303)
  assert.equal(await deliver(second, first), 403)
  assert.equal(await deliver(second, other), 303, 'another one is taken there')
  assert.equal(await deliver(samlRoute.platform, other), 403)
})

test('a single node remembers sign-outs across a restart', async (t) => {
  const samlRoute = await startSamlRoute(t)
  await samlRoute.attempt()
  const endedCookies = copyCookies(samlRoute)
  const other = new CookieClient(samlRoute.platform)
  await samlRoute.signIn(other)
  const liveCookies = copyCookies({ ...samlRoute, browser: other })
  await samlRoute.browser.once(`${samlRoute.url}/auth/logout`)

  await samlRoute.platform.stop()
  const restartedNode = await startPlatform(t, ['--outbound-allow', '127.0.0.1'], samlRoute.platform.dataDir)

  assert.deepEqual(
    [await visit(restartedNode, endedCookies), await visit(restartedNode, liveCookies)],
    [302, 200],
  )
})
