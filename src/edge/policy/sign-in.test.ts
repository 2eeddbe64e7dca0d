import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { inflateRawSync } from 'node:zlib'
import { Secret } from '../../base/secret.ts'
import { createLogins, type LoginOptions } from '../login/index.ts'
import { sendHttps, type TestResponse } from '../testing/client.ts'
import { forgetfulLoginStore } from '../testing/login-store.ts'
import { startOpenidProvider } from '../testing/openid-provider.ts'
import {
  HTTP_VERSIONS,
  type HttpVersion,
  POLICY_HOST,
  startPolicyEndpoint,
} from '../testing/policy-endpoint.ts'
import { createSamlProvider } from '../testing/saml-provider.ts'

const IDP = 'idp.adit.localhost'

const cookiesOf = ({ headers }: TestResponse) =>
  [headers['set-cookie'] ?? []].flat().map((line) => line.split(';', 1)[0]!)

/** A login service whose clock can be moved, and an endpoint with these rules that uses it. */
async function startEndpoint(t: TestContext, rules: object[], outbound: LoginOptions['outbound']) {
  const time = { offset: 0 }
  const clock = { now: () => Date.now() + time.offset, monotonic: () => performance.now() + time.offset }
  const logins = createLogins({
    outbound,
    clock,
    key: new Secret(randomBytes(32)),
    idpUrl: () => `https://${IDP}`,
    store: forgetfulLoginStore,
  })
  t.after(() => logins.close())
  const endpoint = await startPolicyEndpoint(t, JSON.stringify({ on_http_request: rules }), {
    dependencies: { clock, logins, loginHost: { name: IDP, entry: logins.host } },
  })
  const visit = (cookies: readonly string[], path = '/', version: HttpVersion = 'HTTP/1.1') =>
    endpoint.ask({ path, headers: { cookie: cookies.join('; ') } }, version)
  return { ...endpoint, visit, time }
}

/** An endpoint whose policy signs visitors in at an OpenID provider. */
async function start(t: TestContext, config: object, expressions: string[] = []) {
  const { issuer, observed, outbound } = await startOpenidProvider(t)
  const client = { issuer_url: issuer, client_id: 'app', client_secret: 'app-secret' }
  const actions = [{ type: 'openid-connect', config: { ...client, ...config } }]
  const { visit, time, tlsPort, ca } = await startEndpoint(t, [{ expressions, actions }], outbound)

  async function signIn(path = '/') {
    const begun = await visit([], path)
    const url = new URL(String(begun.headers.location))
    observed.nonce = url.searchParams.get('nonce') ?? ''
    const callback = new URL(url.searchParams.get('redirect_uri')!).pathname
    const state = encodeURIComponent(url.searchParams.get('state')!)
    const redeemed = await sendHttps(tlsPort, ca, { host: IDP, path: `${callback}?code=c&state=${state}` })
    const back = String(redeemed.headers.location).slice(`https://${POLICY_HOST}`.length)
    return { url, cookies: cookiesOf(await visit(cookiesOf(begun), back)) }
  }
  return { signIn, visit, time }
}

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
  const { signIn, visit } = await start(t, {}, ["req.url.path.startsWith('/account')"])

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
  const { visit, tlsPort, ca } = await startEndpoint(t, rules, outbound)
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
