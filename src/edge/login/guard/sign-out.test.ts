import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HOST } from '../../testing/https-edge.ts'
import { IDP } from '../../testing/login/login-page.ts'
import { AGENT_HOST, startOpenidPages } from '../../testing/login/openid-page.ts'

type Pages = Awaited<ReturnType<typeof startOpenidPages>>

/** Signs out; returns what the provider is asked with. */
async function signOut({ visit }: Pages, cookies: readonly string[], host = HOST, path = '/auth/logout') {
  const { status, headers } = await visit(cookies, { host, path })
  assert.equal(status, 303)
  return new URL(String(headers.location)).searchParams
}

/** Comes back from the provider; returns where the login host leads. */
async function comeBack({ sendRequest }: Pages, asked: URLSearchParams, state = asked.get('state') ?? '') {
  const { pathname } = new URL(asked.get('post_logout_redirect_uri') ?? '')
  return sendRequest({ host: IDP, path: `${pathname}?${new URLSearchParams({ state })}` })
}

test('a person who signs out is signed out at the provider and comes back to the application', async (t) => {
  const pages = await startOpenidPages(t)
  for (const host of [HOST, AGENT_HOST]) {
    const asked = await signOut(pages, await pages.signIn(host), host)

    assert.equal(asked.get('client_id'), 'app')
    assert.equal(asked.get('id_token_hint')?.split('.').length, 3)
    const back = await comeBack(pages, asked)
    assert.deepEqual([back.status, back.headers.location], [303, `https://${host}/auth/logout`])
    const { status, text } = await pages.visit([], { host, path: '/auth/logout' })
    assert.equal(status, 200)
    assert.match(text, /You are signed out/)
  }
})

test('a route without the path of the sign-in has its own page to come back to', async (t) => {
  const pages = await startOpenidPages(t)
  pages.config.update(pages.routeId, { match: '/app/' })
  await pages.config.waitUntilApplied()
  const cookies = await pages.signIn(HOST, '/app/')

  const back = await comeBack(pages, await signOut(pages, cookies, HOST, '/app/?adit-logout'))

  assert.equal(back.headers.location, `https://${HOST}/app/?adit-logout`)
})

test('an ID token that is too large is not kept, and the sign-out goes without it', async (t) => {
  const pages = await startOpenidPages(t)
  pages.behaviour.claims = (claims) => ({ ...claims, note: 'x'.repeat(2000) })
  const cookies = await pages.signIn()
  assert.deepEqual(
    cookies.filter((cookie) => cookie.includes('tokens.')),
    [],
  )

  const asked = await signOut(pages, cookies)

  assert.equal(asked.get('id_token_hint'), null)
  assert.equal((await comeBack(pages, asked)).status, 303)
})

test('upstreams do not get the cookie of the ID token, and it is deleted at the sign-out', async (t) => {
  const { signIn, visit } = await startOpenidPages(t)
  const cookies = await signIn()
  assert.ok(cookies.some((cookie) => cookie.startsWith('adit.tokens.0=')))

  assert.equal(JSON.parse((await visit(cookies)).text).headers.cookie, undefined)
  const lines = String((await visit(cookies, { path: '/auth/logout' })).headers['set-cookie'])
  assert.match(lines, /adit\.tokens\.0=; Path=\/; Max-Age=0/)
})

test('the way back from a sign-out cannot be forged, and ends with the page', async (t) => {
  const pages = await startOpenidPages(t)
  const asked = await signOut(pages, await pages.signIn())
  const begun = await pages.visit([])
  const stateOfSignIn = new URL(String(begun.headers.location)).searchParams.get('state') ?? ''

  for (const state of ['', 'made-up', `${asked.get('state')}x`, stateOfSignIn])
    assert.equal((await comeBack(pages, asked, state)).status, 403, state)
  pages.config.update(pages.routeId, { oidc: null })
  await pages.config.waitUntilApplied()
  assert.equal((await comeBack(pages, asked)).status, 403)
})
