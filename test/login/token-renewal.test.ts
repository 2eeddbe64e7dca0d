import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { fetch as fetchPlain, Response } from 'undici'
import { createOutbound } from '../../src/base/outbound/outbound.ts'
import { Secret } from '../../src/base/secret.ts'
import { createLogins, type LoginStore } from '../../src/edge/login/index.ts'
import { sendHttps } from '../../src/edge/testing/client.ts'
import { forgetfulLoginStore } from '../../src/edge/testing/login-store.ts'
import { POLICY_HOST, startPolicyEndpoint } from '../../src/edge/testing/policy-endpoint.ts'
import { CookieClient } from '../support/browser-client.ts'
import { eventuallyEqual } from '../support/eventually.ts'
import type { TestPlatform } from '../support/platform.ts'
import { CLIENT_SECRET, signIn, startProvider } from './openid-provider.ts'

const IDP = 'idp.adit.localhost'
const PAGE = `https://${POLICY_HOST}/`
const HOUR = 3_600_000

/** A login store that several processes share. */
function createSharedStore() {
  const used = new Set<string>()
  const revoked: string[] = []
  const store: LoginStore = {
    ...forgetfulLoginStore,
    async consume(id) {
      return !used.has(id) && used.add(id) !== undefined
    },
    async revoke({ subject }) {
      revoked.push(subject)
    },
  }
  return { store, revoked }
}

/**
 * An endpoint whose policy shows the tokens of a visitor, a provider that rotates refresh tokens, and a clock that can be
 * moved. Access tokens are valid for an hour, ID tokens for half of it. Several processes serve the endpoint.
 */
async function start(
  t: TestContext,
  {
    config = {},
    show = 'access_token',
    processes = 1,
    ...loginOptions
  }: { config?: object; show?: string; processes?: number; renewalWaitMs?: number } = {},
) {
  const observed = { renewals: 0, idTokens: 0, logged: [] as string[] }
  // Never the same, so that two ID tokens of one second differ.
  const idTokenSeconds = () => 1800 + observed.idTokens++
  const control = { token: undefined as ((response: ServerResponse) => void) | undefined }
  const { issuer } = await startProvider(t, `https://${IDP}/oauth2/callback`, {
    configuration: {
      rotateRefreshToken: true,
      ttl: { AccessToken: 3600, IdToken: idTokenSeconds },
    },
    intercept(request, response) {
      if (request.url !== '/token') return false
      observed.renewals++
      control.token?.(response)
      return control.token !== undefined
    },
  })
  const time = { offset: 0 }
  const clock = { now: () => Date.now() + time.offset, monotonic: () => performance.now() + time.offset }
  const key = new Secret(randomBytes(32))
  const { store, revoked } = createSharedStore()
  const outbound = createOutbound({ allow: ['127.0.0.1'], totalTimeoutMs: 5000 })
  t.after(() => outbound.close())
  const log = pino({}, { write: (line: string) => void observed.logged.push(JSON.parse(line).msg) })
  const signInConfig = {
    issuer_url: issuer,
    client_id: 'app',
    client_secret: CLIENT_SECRET,
    scopes: ['openid', 'email', 'offline_access'],
    authz_url_params: { prompt: 'consent' },
    ...config,
  }
  const text = { 'content-type': 'text/plain' }
  const body = `\${actions.ngrok.oidc.${show}}`
  const policy = JSON.stringify({
    on_http_request: [
      { actions: [{ type: 'openid-connect', config: signInConfig }] },
      { actions: [{ type: 'custom-response', config: { headers: text, body } }] },
    ],
  })

  async function startProcess() {
    const logins = createLogins({
      ...{ outbound, clock, log, key, store },
      idpUrl: () => `https://${IDP}`,
      ...loginOptions,
    })
    t.after(() => logins.close())
    const dependencies = { clock, logins, loginHost: { name: IDP, entry: logins.host } }
    const { tlsPort, ca } = await startPolicyEndpoint(t, policy, { dependencies })
    const fetch: TestPlatform['fetch'] = async (url, init = {}) => {
      const { hostname, host, pathname, search } = new URL(url)
      if (!hostname.endsWith('.adit.localhost')) return fetchPlain(url, init)
      const { method = 'GET' } = init
      const headers = init.headers as Record<string, string>
      const reply = await sendHttps(tlsPort, ca, { host, path: `${pathname}${search}`, method, headers })
      const fields = Object.entries(reply.headers).flatMap(([name, values]) =>
        [values ?? []].flat().map((value): [string, string] => [name, value]),
      )
      return new Response(reply.text, { status: reply.status, headers: fields })
    }
    return fetch
  }
  const fetches = await Promise.all(Array.from({ length: processes }, startProcess))
  let process = 0
  const browser = new CookieClient({ fetch: (url, init) => fetches[process]!(url, init) })

  /** Sends a request with the cookies of the browser, which gets those of the response. */
  async function visit(method = 'GET') {
    const response = await browser.once(PAGE, { method })
    return { status: response.status, text: await response.text(), cookies: response.headers.getSetCookie() }
  }

  return {
    browser,
    visit,
    time,
    observed,
    control,
    issuer,
    revoked,
    /** Signs the visitor in and returns what the policy shows. */
    async signIn() {
      const { text } = await signIn(browser, PAGE)
      observed.renewals = 0
      return text
    },
    /** Gives the browser cookies that it had before. */
    restore(cookies: readonly string[]) {
      for (const cookie of cookies) {
        const [name = '', value = ''] = cookie.split('=')
        browser.setCookie(POLICY_HOST, name, value)
      }
    },
    /** Sends the next requests to this process. */
    use: (index: number) => {
      process = index
    },
  }
}

test('an access token is renewed before it expires, again and again, also for a POST', async (t) => {
  const { signIn, visit, time, observed } = await start(t)
  const first = await signIn()
  assert.notEqual(first, '')

  time.offset = 58 * 60_000
  assert.equal((await visit()).text, first)
  assert.equal(observed.renewals, 0)

  time.offset = HOUR - 30_000
  const second = await visit('POST')
  assert.equal(second.status, 200)
  assert.notEqual(second.text, first)
  assert.ok(second.cookies.some((line) => line.startsWith('adit.tokens.0=')))
  const again = await visit()
  assert.deepEqual([again.text, again.cookies], [second.text, []])

  time.offset = 3 * HOUR
  const third = await visit()
  assert.equal(third.status, 200)
  assert.ok(![first, second.text].includes(third.text))
  assert.equal(observed.renewals, 2)
})

test('an ID token is renewed for a policy that reads it', async (t) => {
  const { signIn, visit, time, observed } = await start(t, { show: 'identity_token' })
  const first = await signIn()

  time.offset = 30 * 60_000
  const second = await visit()

  assert.equal(second.text.split('.').length, 3)
  assert.notEqual(second.text, first)
  assert.equal(observed.renewals, 1)
})

test('concurrent requests share one renewal, and later ones with earlier cookies get its result', async (t) => {
  const { signIn, visit, browser, restore, time, observed } = await start(t)
  const first = await signIn()
  const cookies = browser.cookies(POLICY_HOST)
  time.offset = 2 * HOUR

  const responses = await Promise.all(Array.from({ length: 10 }, () => visit()))
  restore(cookies)
  const late = await visit()

  const texts = new Set([...responses, late].map(({ text }) => text))
  assert.equal(texts.size, 1)
  assert.ok(!texts.has(first))
  assert.equal(observed.renewals, 1)
  assert.ok(late.cookies.some((line) => line.startsWith('adit.tokens.0=')))
})

test('a session ends on every node when the provider rejects its refresh token', async (t) => {
  const show = 'access_token} ${actions.ngrok.oidc.refresh_token'
  const { signIn, visit, time, issuer, revoked } = await start(t, { show })
  const [, refreshToken = ''] = (await signIn()).split(' ')
  const used = await fetchPlain(`${issuer}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`app:${CLIENT_SECRET}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token: refreshToken }),
  })
  assert.equal(used.status, 200)

  time.offset = 2 * HOUR
  const statuses = [(await visit('POST')).status, (await visit()).status]

  assert.deepEqual(statuses, [401, 302])
  assert.equal(revoked.length, 1)
  assert.match(revoked[0]!, /^as_/)
})

test('a provider that cannot be reached leaves the token in place and is asked again later', async (t) => {
  const { signIn, visit, time, observed, control } = await start(t)
  const first = await signIn()
  time.offset = 2 * HOUR
  control.token = (response) => void response.destroy()

  for (let count = 0; count < 10; count++) {
    const { status, text } = await visit()
    assert.deepEqual([status, text], [200, first])
  }

  assert.equal(observed.renewals, 1)
  assert.deepEqual(observed.logged, ['tokens of a session not renewed'])
  control.token = undefined
  time.offset += 6000
  await eventuallyEqual(async () => (await visit()).text !== first, true)
  assert.equal(observed.renewals, 2)
})

test('requests do not wait for a slow provider, and its late response is used', async (t) => {
  const { signIn, visit, time, observed, control } = await start(t, { renewalWaitMs: 20 })
  const first = await signIn()
  time.offset = 2 * HOUR
  let release = () => {}
  control.token = (response) => {
    release = () =>
      void response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ access_token: 'late', token_type: 'Bearer', expires_in: 3600 }))
  }

  assert.deepEqual([(await visit()).text, (await visit()).text], [first, first])
  release()

  await eventuallyEqual(async () => (await visit()).text, 'late')
  assert.equal(observed.renewals, 1)
})

test('one of several processes renews, and the others go on with the tokens of the request', async (t) => {
  const { signIn, visit, browser, restore, time, observed, use } = await start(t, { processes: 2 })
  const first = await signIn()
  const cookies = browser.cookies(POLICY_HOST)
  time.offset = HOUR - 30_000

  const renewed = await visit()
  use(1)
  const current = await visit()
  restore(cookies)
  const earlier = await visit()

  assert.notEqual(renewed.text, first)
  assert.equal(current.text, renewed.text)
  assert.deepEqual([earlier.status, earlier.text, earlier.cookies], [200, first, []])
  assert.equal(observed.renewals, 1)
})
