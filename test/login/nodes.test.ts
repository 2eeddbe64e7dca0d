import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { CookieClient } from '../support/browser-client.ts'
import { startPlatform, type TestPlatform } from '../support/platform.ts'
import { freshDatabase } from '../support/postgres.ts'
import { samlPlace } from './saml-route.ts'

type Place = Awaited<ReturnType<typeof samlPlace>>

/** A protected page on a database that other nodes can join. */
async function firstNode(t: TestContext) {
  const flags = ['--database-url', (await freshDatabase(t)).url]
  const place = await samlPlace(t, {}, flags)
  const key = join(place.platform.dataDir, 'master.key')
  const another = () =>
    startPlatform(t, ['--outbound-allow', '127.0.0.1', '--master-key-file', key, ...flags])
  return { ...place, another }
}

/** Visits the page on any node with cookies that were copied from the browser. */
async function visit(node: TestPlatform, copy: readonly string[]): Promise<number> {
  const url = `https://app.adit.localhost:${new URL(node.credentials.https_url).port}/page`
  const response = await node.fetch(url, { redirect: 'manual', headers: { cookie: copy.join('; ') } })
  await response.text()
  return response.status
}

function copyOf({ browser, url }: Pick<Place, 'browser' | 'url'>): string[] {
  return browser.cookies(new URL(url).host)
}

/** How long it takes until the node refuses the cookies, in milliseconds. */
async function refusedAfter(node: TestPlatform, copy: readonly string[]): Promise<number> {
  const began = performance.now()
  while ((await visit(node, copy)) === 200) {
    if (performance.now() - began > 5000) assert.fail('the cookie lives on')
    await delay(10)
  }
  return performance.now() - began
}

test('signing out on one node ends the session on every other within a second, and on those that start later', async (t) => {
  const place = await firstNode(t)
  const second = await place.another()
  await place.attempt()
  const ended = copyOf(place)
  assert.equal(await visit(second, ended), 200, 'a session counts on every node')
  const other = new CookieClient(place.platform)
  await place.signIn(other)
  const stays = copyOf({ ...place, browser: other })

  await place.browser.once(`${place.url}/auth/logout`)

  assert.equal(await visit(place.platform, ended), 302)
  assert.ok((await refusedAfter(second, ended)) < 1500)
  const third = await place.another()
  assert.deepEqual([await visit(third, ended), await visit(third, stays)], [302, 200])
  assert.equal(await visit(second, stays), 200)
})

test('a sign-out at the provider ends the sessions of that person on every node', async (t) => {
  const place = await firstNode(t)
  const second = await place.another()
  await place.attempt()
  const copy = copyOf(place)
  assert.equal(await visit(second, copy), 200)

  await place.browser.once(await place.idp.signOut(place.saml.single_logout_url, 'ada-id'))

  assert.ok((await refusedAfter(second, copy)) < 1500)
})

test('an answer of the provider that was used on one node is refused on every other', async (t) => {
  const place = await firstNode(t)
  const second = await place.another()
  const acs = (node: TestPlatform) => {
    const url = new URL(place.saml.assertion_consumer_service_url)
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
    const xml = await place.idp.respond(place.saml.entity_id, place.saml.assertion_consumer_service_url)
    const SAMLResponse = Buffer.from(xml).toString('base64')
    return new URLSearchParams({ SAMLResponse, RelayState: `${place.url}/page` }).toString()
  }
  const [first, alone] = [await form(), await form()]

  assert.equal(await deliver(place.platform, first), 303)
  assert.equal(await deliver(second, first), 403)
  assert.equal(await deliver(second, alone), 303, 'another one is taken there')
  assert.equal(await deliver(place.platform, alone), 403)
})

test('a node alone remembers sign-outs over a restart', async (t) => {
  const place = await samlPlace(t)
  await place.attempt()
  const ended = copyOf(place)
  const other = new CookieClient(place.platform)
  await place.signIn(other)
  const stays = copyOf({ ...place, browser: other })
  await place.browser.once(`${place.url}/auth/logout`)

  await place.platform.stop()
  const again = await startPlatform(t, ['--outbound-allow', '127.0.0.1'], place.platform.dataDir)

  assert.deepEqual([await visit(again, ended), await visit(again, stays)], [302, 200])
})
