import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { inflateRawSync } from 'node:zlib'
import { pino } from 'pino'
import { sendHttps, type TestResponse } from '../../../test/support/https-client.ts'
import { silentLog } from '../../base/process/log.ts'
import { Secret } from '../../base/values/secret.ts'
import { type LoginOptions, LoginService } from '../login/index.ts'
import { forgetfulLoginStore } from '../testing/login/login-store.ts'
import { startOpenidProvider } from '../testing/login/openid-provider.ts'
import { createSamlProvider } from '../testing/login/saml-provider.ts'
import {
  HTTP_VERSIONS,
  type HttpVersion,
  POLICY_HOST,
  startPolicyEndpoint,
} from '../testing/policy-endpoint.ts'

const IDP = 'idp.adit.localhost'

const cookiesOf = ({ headers }: TestResponse) =>
  [headers['set-cookie'] ?? []].flat().map((line) => line.split(';', 1)[0]!)

/** A login service whose clock can be moved, and an endpoint with these rules that uses it. */
async function startEndpoint(
  t: TestContext,
  rules: object[],
  { outbound, log = silentLog }: Pick<LoginOptions, 'outbound' | 'log'>,
) {
  const time = { offset: 0 }
  const clock = { now: () => Date.now() + time.offset, monotonic: () => performance.now() + time.offset }
  const logins = new LoginService({
    outbound,
    clock,
    log,
    key: new Secret(randomBytes(32)),
    idpUrl: () => `https://${IDP}`,
    store: forgetfulLoginStore,
  })
  t.after(() => logins.close())
  const endpoint = await startPolicyEndpoint(t, JSON.stringify({ on_http_request: rules }), {
    dependencies: { clock, log, logins, loginHost: IDP },
  })
  const visit = (cookies: readonly string[], path = '/', version: HttpVersion = 'HTTP/1.1') =>
    endpoint.ask({ path, headers: { cookie: cookies.join('; ') } }, version)
  return { ...endpoint, visit, time }
}

/** An endpoint whose policy signs visitors in at an OpenID provider. */
async function start(
  t: TestContext,
  config: object,
  { expressions = [], laterRules = [] }: { expressions?: string[]; laterRules?: object[] } = {},
) {
  const { issuer, observed, behaviour, outbound } = await startOpenidProvider(t)
  const logged: string[] = []
  const log = pino({}, { write: (line: string) => void logged.push(JSON.parse(line).msg) })
  const client = { issuer_url: issuer, client_id: 'app', client_secret: 'app-secret' }
  const actions = [{ type: 'openid-connect', config: { ...client, ...config } }]
  const rules = [{ expressions, actions }, ...laterRules]
  const { visit, time, tlsPort, ca } = await startEndpoint(t, rules, { outbound, log })

  let codes = 0
  async function signIn(path = '/', earlier: readonly string[] = []) {
    const begun = await visit(earlier, path)
    const url = new URL(String(begun.headers.location))
    observed.nonce = url.searchParams.get('nonce') ?? ''
    const callback = new URL(url.searchParams.get('redirect_uri')!).pathname
    const state = encodeURIComponent(url.searchParams.get('state')!)
    const redeemed = await sendHttps(tlsPort, ca, {
      host: IDP,
      path: `${callback}?code=c${++codes}&state=${state}`,
    })
    const back = String(redeemed.headers.location).slice(`https://${POLICY_HOST}`.length)
    const returned = await visit([...earlier, ...cookiesOf(begun)], back)
    const lines = [returned.headers['set-cookie'] ?? []].flat()
    return { url, begun, returned, lines, cookies: cookiesOf(returned) }
  }
  return { signIn, visit, time, behaviour, logged }
}

/** Responds with what an expression reads of the sign-in. */
const show = (template: string) => ({
  actions: [
    { type: 'custom-response', config: { headers: { 'content-type': 'text/plain' }, body: template } },
  ],
})

/** A token endpoint that also gives a refresh token. */
const giveTokens =
  (accessToken: string) =>
  (response: ServerResponse, idToken: string): void =>
    void response.end(
      JSON.stringify({
        access_token: accessToken,
        refresh_token: 'the-refresh-token',
        token_type: 'Bearer',
        id_token: idToken,
      }),
    )

test('a policy reads the tokens of the provider, which only its own session opens', async (t) => {
  const laterRules = [
    show('${actions.ngrok.oidc.access_token} ${actions.ngrok.oidc.identity_token.split(".").size()}'),
  ]
  const { signIn, visit, behaviour } = await start(t, {}, { laterRules })
  behaviour.token = giveTokens('the-access-token')

  const { cookies, lines } = await signIn()
  const other = await signIn()

  for (const version of HTTP_VERSIONS)
    assert.equal((await visit(cookies, '/', version)).text, 'the-access-token 3', version)
  const [line] = lines.filter((each) => each.startsWith('adit.tokens.0='))
  assert.match(line ?? '', /; Path=\/; HttpOnly; SameSite=Lax; Secure$/)
  assert.ok(!lines.join().includes('the-refresh-token'))
  const isToken = (cookie: string) => cookie.startsWith('adit.tokens.')
  const exchanged = [...cookies.filter((each) => !isToken(each)), ...other.cookies.filter(isToken)]
  assert.equal((await visit(exchanged)).text, ' ')
})

test('tokens are kept only for a policy that reads them, and upstreams do not get them', async (t) => {
  const unread = await start(t, {})
  // One with a sign-out of its own wants to see the ID token then.
  unread.behaviour.description = { end_session_endpoint: undefined }
  unread.behaviour.token = giveTokens('the-access-token')
  const addHeader = { headers: { 'x-upstream': '${actions.ngrok.oidc.refresh_token}' } }
  const read = await start(t, {}, { laterRules: [{ actions: [{ type: 'add-headers', config: addHeader }] }] })
  read.behaviour.token = giveTokens('the-access-token')

  const { cookies: without } = await unread.signIn()
  const { cookies } = await read.signIn()
  const { text } = await read.visit(cookies)

  assert.ok(!without.some((cookie) => cookie.includes('tokens')), without.join())
  assert.ok(
    cookies.some((cookie) => cookie.startsWith('adit.tokens.0=')),
    cookies.join(),
  )
  assert.match(text, /x-upstream[^a-z]+the-refresh-token/i)
  assert.ok(!text.includes('adit.tokens'), text)
  const signedOut = await read.visit(cookies, '/auth/logout')
  assert.ok(String(signedOut.headers['set-cookie']).includes('adit.tokens.0=; Path=/; Max-Age=0'))
})

test('tokens of several kilobytes have two cookies, and larger ones are absent and logged', async (t) => {
  const laterRules = [
    show('${has(actions.ngrok.oidc.access_token) ? actions.ngrok.oidc.access_token.size() : 0}'),
  ]
  const { signIn, visit, behaviour, logged, time } = await start(
    t,
    { max_session_duration: '1h' },
    { laterRules },
  )
  const tokenCookies = (cookies: readonly string[]) =>
    cookies.filter((cookie) => cookie.startsWith('adit.tokens.') && !cookie.endsWith('='))

  behaviour.token = giveTokens('a'.repeat(4000))
  const large = await signIn()
  assert.equal((await visit(large.cookies)).text, '4000')
  assert.equal(tokenCookies(large.cookies).length, 2)
  for (const line of large.lines) assert.ok(line.length < 4096, `${line.length} bytes`)
  assert.deepEqual(logged, [])

  // The cookies of the session that has ended are still in the browser.
  time.offset = 2 * 3_600_000
  behaviour.token = giveTokens('a'.repeat(5000))
  const tooLarge = await signIn('/', large.cookies)
  assert.deepEqual(
    cookiesOf(tooLarge.begun).filter((cookie) => cookie.startsWith('adit.tokens.')),
    ['adit.tokens.0=', 'adit.tokens.1='],
  )
  assert.equal((await visit(tooLarge.cookies)).text, '0')
  assert.deepEqual(tokenCookies(tooLarge.cookies), [])
  assert.deepEqual(logged, ['tokens of a sign-in are too large for cookies'])
})

test('a policy reads when the session ends and how the one before ended', async (t) => {
  const read = (name: string) => `\${actions.ngrok.oidc.${name}}`
  const names = ['session_timed_out', 'session_max_duration_reached', 'userinfo_refreshed']
  const laterRules = [show(names.map(read).join(' '))]
  const cases = [
    [{ idle_session_timeout: '1h' }, 'true false false'],
    [{ max_session_duration: '1h' }, 'false true false'],
    [{ userinfo_refresh_interval: '1h', max_session_duration: '8h' }, 'false false true'],
  ] as const
  for (const [config, expected] of cases) {
    const { signIn, visit, time } = await start(t, config, { laterRules })
    const first = await signIn()
    assert.equal((await visit(first.cookies)).text, 'false false false')

    time.offset = 3_600_000
    const second = await signIn('/', first.cookies)

    assert.equal((await visit(second.cookies)).text, expected)
  }
  const expiry = show(`${read('expires_at')} ${read('identity.current_session_id')}`)
  const { signIn, visit } = await start(t, { max_session_duration: '1h' }, { laterRules: [expiry] })
  const [expiresAt, sessionId] = (await visit((await signIn()).cookies)).text.split(' ') as [string, string]
  assert.ok(Math.abs(Date.parse(expiresAt) - Date.now() - 3_600_000) < 60_000, expiresAt)
  assert.match(sessionId, /^as_/)
})

test('openid-connect asks the provider again after userinfo_refresh_interval', async (t) => {
  const { signIn, visit, time } = await start(t, { userinfo_refresh_interval: '2h' })
  const { cookies } = await signIn()
  const statuses = [(await visit(cookies)).status]

  time.offset = 1.9 * 3_600_000
  statuses.push((await visit(cookies)).status)
  time.offset = 2.1 * 3_600_000
  statuses.push((await visit(cookies)).status)

  assert.deepEqual(statuses, [200, 200, 302])
})

test('a sign-in with expressions takes visitors back from the provider, whatever its expressions', async (t) => {
  const { signIn, visit } = await start(t, {}, { expressions: ["req.url.path.startsWith('/account')"] })

  const { cookies } = await signIn('/account/orders')

  assert.deepEqual(
    [(await visit(cookies, '/account/orders')).status, (await visit([], '/account')).status],
    [200, 302],
  )
  assert.equal((await visit([])).status, 200)
  assert.equal((await visit(cookies, '/auth/logout')).status, 303)
  assert.equal((await visit(cookies, '/account')).status, 302)
})

test('authz_url_params are added to the URL of the sign-in page', async (t) => {
  const { signIn } = await start(t, { authz_url_params: { prompt: 'login', login_hint: 'ada@example.com' } })

  const { searchParams } = (await signIn()).url

  assert.deepEqual(
    [searchParams.get('prompt'), searchParams.get('login_hint'), searchParams.get('client_id')],
    ['login', 'ada@example.com', 'app'],
  )
})

test('auth_id names the cookies of a sign-in, and upstreams do not get them', async (t) => {
  const { signIn, visit } = await start(t, { auth_id: 'staff' })

  const { cookies } = await signIn()
  const { status, text } = await visit(cookies)

  assert.ok(
    cookies.some((cookie) => cookie.startsWith('adit.staff.session=')),
    cookies.join(),
  )
  assert.ok(
    cookies.some((cookie) => cookie.startsWith('__Host-adit.staff.session=')),
    cookies.join(),
  )
  assert.equal(status, 200)
  assert.ok(!text.includes('adit.staff'), text)
  const renamed = cookies.map((cookie) => cookie.replace('adit.staff.', 'adit.'))
  assert.equal((await visit(renamed)).status, 302)
  assert.equal((await visit(cookies, '/auth/logout?auth_id=staff')).status, 303)
})

test('saml signs visitors in, and a later rule decides by their groups', async (t) => {
  const { metadata, formFor } = await createSamlProvider()
  const rules = [
    { actions: [{ type: 'saml', config: { idp_metadata: metadata } }] },
    {
      expressions: ["!('staff' in actions.ngrok.saml.identity.groups)"],
      actions: [{ type: 'deny', config: { status_code: 404 } }],
    },
    { actions: [{ type: 'custom-response', config: { body: '${actions.ngrok.saml.identity.id}' } }] },
  ]
  const outbound = { fetch: () => Promise.reject(new Error('nothing is fetched')) }
  const { visit, tlsPort, ca } = await startEndpoint(t, rules, { outbound })
  const entityId = `https://${IDP}/saml/${POLICY_HOST}`

  async function signIn(groups: string[]) {
    const begun = await visit([])
    const query = new URL(String(begun.headers.location)).searchParams
    const request = inflateRawSync(Buffer.from(query.get('SAMLRequest') ?? '', 'base64')).toString()
    const requestId = / ID="([^"]+)"/.exec(request)?.[1] ?? ''
    const posted = await sendHttps(tlsPort, ca, {
      host: IDP,
      path: `/saml/${POLICY_HOST}/acs`,
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: formFor(entityId, query.get('RelayState') ?? '', { requestId, groups }),
    })
    const back = String(posted.headers.location).slice(`https://${POLICY_HOST}`.length)
    return cookiesOf(await visit(cookiesOf(begun), back))
  }
  const members = await signIn(['staff'])
  const others = await signIn(['guests'])

  const published = await sendHttps(tlsPort, ca, { host: IDP, path: `/saml/${POLICY_HOST}` })
  assert.equal(published.status, 200)
  assert.ok(published.text.includes(`entityID="${entityId}"`))
  assert.equal((await sendHttps(tlsPort, ca, { host: IDP, path: '/saml/other.adit.localhost' })).status, 404)
  for (const version of HTTP_VERSIONS) {
    const admitted = await visit(members, '/', version)
    assert.deepEqual([admitted.status, admitted.text], [200, 'ada-id'], version)
    assert.equal((await visit(others, '/', version)).status, 404, version)
  }
})

test('the log warns once of a SAML provider that wants signed requests', async (t) => {
  const { metadata } = await createSamlProvider()
  const idp_metadata = metadata.replace(
    '<IDPSSODescriptor',
    '<IDPSSODescriptor WantAuthnRequestsSigned="true"',
  )
  const warnings: Record<string, unknown>[] = []
  const log = pino({}, { write: (line: string) => void warnings.push(JSON.parse(line)) })
  const outbound = { fetch: () => Promise.reject(new Error('nothing is fetched')) }
  const rules = [{ actions: [{ type: 'saml', config: { idp_metadata } }] }]

  const { visit } = await startEndpoint(t, rules, { outbound, log })

  assert.equal((await visit([])).status, 302)
  const [warning, ...more] = warnings.filter(({ place }) => place !== undefined)
  assert.deepEqual(
    [warning?.place, warning?.endpoint, more],
    ['on_http_request, rule 1 (saml)', POLICY_HOST, []],
  )
  assert.match(String(warning?.warning), /set sign_requests/)
})
