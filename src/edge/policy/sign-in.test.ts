import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { Secret } from '../../base/secret.ts'
import { createLogins } from '../login/index.ts'
import { sendHttps, type TestResponse } from '../testing/client.ts'
import { startOpenidProvider } from '../testing/openid-provider.ts'
import { POLICY_HOST, startPolicyEndpoint } from '../testing/policy-endpoint.ts'

const IDP = 'idp.adit.localhost'

const cookiesOf = ({ headers }: TestResponse) =>
  [headers['set-cookie'] ?? []].flat().map((line) => line.split(';', 1)[0]!)

/** An endpoint whose policy signs visitors in at an OpenID provider. */
async function start(t: TestContext, config: object) {
  const { issuer, observed, outbound } = await startOpenidProvider(t)
  const time = { offset: 0 }
  const clock = { now: () => Date.now() + time.offset, monotonic: () => performance.now() + time.offset }
  const logins = createLogins({
    outbound,
    clock,
    key: new Secret(randomBytes(32)),
    idpUrl: () => `https://${IDP}`,
    store: { consume: async () => true, revoke: async () => {} },
  })
  t.after(() => logins.close())
  const client = { issuer_url: issuer, client_id: 'app', client_secret: 'app-secret' }
  const actions = [{ type: 'openid-connect', config: { ...client, ...config } }]
  const { ask, tlsPort, ca } = await startPolicyEndpoint(
    t,
    JSON.stringify({ on_http_request: [{ actions }] }),
    {
      dependencies: { clock, logins, loginHost: { name: IDP, entry: logins.host } },
    },
  )
  const visit = (cookies: readonly string[], path = '/') =>
    ask({ path, headers: { cookie: cookies.join('; ') } })

  async function signIn() {
    const begun = await visit([])
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

test('authz_url_params are added to the URL of the sign-in page', async (t) => {
  const { signIn } = await start(t, { authz_url_params: { prompt: 'login', login_hint: 'ada@example.com' } })

  const { searchParams } = (await signIn()).url

  assert.deepEqual(
    [searchParams.get('prompt'), searchParams.get('login_hint'), searchParams.get('client_id')],
    ['login', 'ada@example.com', 'app'],
  )
})
