import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { CookieClient } from '../support/browser-client.ts'
import { eventually, eventuallyEqual } from '../support/eventually.ts'
import { startPlatform } from '../support/platform.ts'
import { confirmSignOut, createProtectedRoute, signIn } from './openid-provider.ts'

async function startProtectedRoute(t: TestContext, flags: string[] = []) {
  const platform = await startPlatform(t, ['--outbound-allow', '127.0.0.1', ...flags])
  return { platform, ...(await createProtectedRoute(t, platform)) }
}

test('a client signs in at the OpenID provider and returns to the requested page', async (t) => {
  const { platform, url } = await startProtectedRoute(t)
  const browser = new CookieClient(platform)

  const page = await signIn(browser, `${url}/deep/page?x=1`)

  assert.equal(page.status, 200, page.text.slice(0, 400))
  const headers = JSON.parse(page.text) as Record<string, string>
  assert.equal(page.way.at(-1), `${url}/deep/page?x=1`)
  assert.equal(headers['adit-auth-user-id'], 'ada')
  assert.equal(headers['adit-auth-user-email'], 'ada@example.com')
  assert.equal(headers['adit-auth-user-name'], 'Ada')
  assert.equal(headers.cookie, undefined, 'our cookies stay with us')
})

test('identity headers and cookies cannot be forged, and a changed module ends its sessions', async (t) => {
  const { platform, url, path, oidc } = await startProtectedRoute(t)
  const browser = new CookieClient(platform)
  await signIn(browser, url)
  const { host } = new URL(url)

  const forgedResponse = await browser.once(url, {
    headers: { 'adit-auth-user-id': 'root', Adit_Auth_User_Id: 'root' },
  })
  const headers = JSON.parse(await forgedResponse.text()) as Record<string, string>
  assert.equal(headers['adit-auth-user-id'], 'ada')

  const tamperedClient = new CookieClient(platform)
  for (const cookie of browser.cookies(host)) {
    const [name = '', value = ''] = cookie.split('=')
    tamperedClient.setCookie(host, name, `${value.slice(0, -2)}AA`)
  }
  assert.equal((await tamperedClient.once(url)).status, 302, 'a modified cookie is rejected')

  assert.equal(
    (await platform.call('PUT', `${path}/oidc`, { body: { ...oidc, maximum_duration: 60 } })).status,
    200,
  )
  await eventuallyEqual(async () => (await browser.once(url)).status, 302, 'a changed module ends sessions')
})

test('a route admits one team only: by email, by group and by claim', async (t) => {
  const { platform, url, path, oidc } = await startProtectedRoute(t)
  const scopes = ['profile', 'email', 'groups']
  const put = (rules: Record<string, string[]>) =>
    platform.call('PUT', `${path}/oidc`, { body: { ...oidc, scopes, ...rules } })
  const expectEntry = async (rules: Record<string, string[]>, status: number) => {
    assert.equal((await put(rules)).status, 200)
    await eventuallyEqual(
      async () => (await signIn(new CookieClient(platform), url)).status,
      status,
      JSON.stringify(rules),
    )
  }

  await expectEntry({ email_domains: ['other.test'] }, 403)
  await expectEntry({ email_domains: ['Example.com'] }, 200)
  await expectEntry({ authorized_groups: ['ops'] }, 403)
  await expectEntry({ authorized_groups: ['staff'], authorized_claims: ['name=Ada'] }, 200)
  await expectEntry({ authorized_groups: ['staff'], authorized_claims: ['name=Bob'] }, 403)
  assert.equal((await put({ authorized_claims: ['ops'] })).status, 400)
})

test('requests other than page loads get 401, and OPTIONS passes only if configured', async (t) => {
  const { platform, url, path, oidc } = await startProtectedRoute(t)
  const ask = async (method: string) => {
    const response = await platform.fetch(url, { method, redirect: 'manual' })
    await response.text()
    return response.status
  }

  assert.equal(await ask('POST'), 401)
  assert.equal(await ask('OPTIONS'), 401)
  await platform.call('PUT', `${path}/oidc`, { body: { ...oidc, options_passthrough: true } })
  await eventuallyEqual(() => ask('OPTIONS'), 200)
  assert.equal(await ask('POST'), 401)
})

test('signing out ends the session even for a copy of the cookie', async (t) => {
  const { platform, url } = await startProtectedRoute(t)
  const browser = new CookieClient(platform)
  await signIn(browser, url)
  const { host } = new URL(url)
  const stolenCookies = browser.cookies(host)

  const page = await browser.get(`${url}/auth/logout`)

  assert.match(page.way.at(-1) ?? '', /session\/end/, 'the provider session ends as well')
  assert.deepEqual(browser.cookies(host), [])
  const thief = new CookieClient(platform)
  for (const cookie of stolenCookies)
    thief.setCookie(host, cookie.slice(0, cookie.indexOf('=')), cookie.slice(cookie.indexOf('=') + 1))
  assert.equal((await thief.once(url)).status, 302)
})

test('a person who signs out at the provider too comes back to the application', async (t) => {
  const { platform, url } = await startProtectedRoute(t)
  const browser = new CookieClient(platform)
  await signIn(browser, url)

  const asked = await browser.get(`${url}/auth/logout`)
  const page = await browser.get(await confirmSignOut(browser, asked))

  assert.equal(page.status, 200, page.text)
  assert.equal(page.way.at(-1), `${url}/auth/logout`)
  assert.match(page.text, /You are signed out/)
  assert.match((await browser.get(url)).text, /name="login"/, 'the provider asks who it is')
})

test('a callback in another browser, a replayed one and an invented one sign nobody in', async (t) => {
  const { platform, url } = await startProtectedRoute(t)
  const browser = new CookieClient(platform)
  const page = await signIn(browser, url)
  const callback = page.way.find((address) => address.includes('/auth/callback')) ?? ''
  assert.notEqual(callback, '')

  const thief = new CookieClient(platform)
  const replayed = await browser.once(callback)
  const stolen = await thief.once(callback)
  const inventedCallback = await thief.once(`${url}/auth/callback?code=x&state=y`)

  // A sign-in that was completed leads back to where it was for, without a session.
  assert.deepEqual([replayed.status, stolen.status, inventedCallback.status], [303, 303, 403])
  assert.equal((await thief.once(url)).status, 302)
})

test('an account lists who has signed in, and deleting a session or a user signs them out', async (t) => {
  const { platform, url, issuer, path } = await startProtectedRoute(t)
  const { call } = platform
  const [first, second] = [new CookieClient(platform), new CookieClient(platform)]
  const statusOf = async (browser: CookieClient) => (await browser.once(url)).status
  const list = async () => (await call('GET', '/app/sessions')).body.application_sessions
  await signIn(first, `${url}/page`)
  const [session] = await eventually(async () => ((await list()).length === 1 ? list() : undefined))
  await signIn(second, `${url}/page`)
  await eventuallyEqual(async () => (await list()).length, 2)

  const { body: users } = await call('GET', '/app/users')
  const [user] = users.application_users
  assert.equal(users.application_users.length, 1, 'one person in two browsers')
  assert.deepEqual(
    [user.identity_provider, user.provider_user_id, user.email, user.name],
    [{ name: '127.0.0.1', url: issuer }, 'ada', 'ada@example.com', 'Ada'],
  )
  assert.equal(session.public_url, url)
  assert.equal(session.browser_session.ip_address, '127.0.0.1')
  assert.equal(session.application_user.id, user.id)
  assert.equal(`/edges/https/${session.edge.id}/routes/${session.route.id}`, path)
  assert.equal(session.endpoint, null)

  assert.equal((await call('DELETE', `/app/sessions/${session.id}`)).status, 204)
  await eventuallyEqual(() => statusOf(first), 302)
  assert.equal(await statusOf(second), 200, 'the other session goes on')
  assert.equal((await call('GET', `/app/sessions/${session.id}`)).status, 404)

  await signIn(first, `${url}/page`)
  await eventuallyEqual(async () => (await list()).length, 2)
  assert.equal((await call('DELETE', `/app/users/${user.id}`)).status, 204)
  await eventuallyEqual(async () => [await statusOf(first), await statusOf(second)], [302, 302])
  assert.deepEqual(await list(), [])
  assert.equal((await call('DELETE', `/app/users/${user.id}`)).status, 404)
  await eventuallyEqual(async () => (await signIn(first, `${url}/page`)).status, 200)
})
