import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { sendHttps, type TestResponse } from '../../../test/support/https-client.ts'
import { startHttp } from '../../../test/support/local-server.ts'
import { Secret } from '../../base/values/secret.ts'
import { ReservedDomain } from '../../resources/index.ts'
import { LoginService } from '../login/index.ts'
import { createTestCertificates } from '../testing/certificates.ts'
import { TestConfiguration } from '../testing/configuration.ts'
import { startEdge } from '../testing/edge.ts'
import { echo } from '../testing/https-edge.ts'
import { forgetfulLoginStore } from '../testing/login/login-store.ts'
import { startOpenidProvider } from '../testing/login/openid-provider.ts'
import { createLocalTunnel, TestTunnels } from '../testing/tunnels.ts'

const IDP = 'idp.adit.localhost'

const cookieLines = ({ headers }: TestResponse) => [headers['set-cookie'] ?? []].flat()
const pairsOf = (lines: readonly string[]) => lines.map((line) => line.split(';', 1)[0]!)

interface TestEndpoint {
  readonly host: string
  readonly accountId?: string
  /** Of the sign-in. */
  readonly config?: object
  readonly laterRules?: object[]
  /** Instead of one with a sign-in. */
  readonly policy?: object
}

/** Endpoints whose policies sign visitors in at one provider, and who has reserved which domain. */
async function start(
  t: TestContext,
  endpoints: readonly TestEndpoint[],
  reserved: readonly (readonly [domain: string, accountId: string])[] = [['*.team.example', 'ac_test']],
) {
  const { issuer, observed, outbound } = await startOpenidProvider(t)
  const logins = new LoginService({
    outbound,
    clock: { now: () => Date.now(), monotonic: () => performance.now() },
    key: new Secret(randomBytes(32)),
    idpUrl: () => `https://${IDP}`,
    store: forgetfulLoginStore,
  })
  t.after(() => logins.close())
  const upstream = await startHttp(t, echo)
  const tunnels = new TestTunnels()
  for (const { host, accountId = 'ac_test', config = {}, laterRules = [], policy } of endpoints) {
    const client = { issuer_url: issuer, client_id: 'app', client_secret: 'app-secret' }
    const signIn = { ...client, auth_cookie_domain: 'team.example', ...config }
    const rules = [{ actions: [{ type: 'openid-connect', config: signIn }] }, ...laterRules]
    const trafficPolicy = JSON.stringify(policy ?? { on_http_request: rules })
    tunnels.add(
      host,
      createLocalTunnel(upstream, {
        accountId,
        proto: 'https',
        hostport: `${host}:443`,
        options: { trafficPolicy },
      }),
    )
  }
  const { ca, lookup } = await createTestCertificates('adit.localhost', 'example')
  const dependencies = { certificates: lookup, logins, loginHost: IDP }
  const { edge, tlsPort } = await startEdge(t, tunnels, {}, dependencies)
  const configurations = reserved.map(([domain, accountId]) => {
    const configuration = new TestConfiguration(edge, accountId)
    const id = configuration.create(ReservedDomain, { domain })
    return { release: () => configuration.remove(id) }
  })

  const visit = (host: string, cookies: readonly string[] = [], path = '/') =>
    sendHttps(tlsPort, ca, { host, path, headers: { cookie: cookies.join('; ') } })

  let codes = 0
  /** Returns the lines that set the cookies of the session. */
  async function signIn(host: string, earlier: readonly string[] = []): Promise<string[]> {
    const begun = await visit(host, earlier)
    assert.equal(begun.status, 302, begun.text)
    const url = new URL(String(begun.headers.location))
    observed.nonce = url.searchParams.get('nonce') ?? ''
    const callback = new URL(url.searchParams.get('redirect_uri')!).pathname
    const state = encodeURIComponent(url.searchParams.get('state')!)
    const redeemed = await visit(IDP, [], `${callback}?code=c${++codes}&state=${state}`)
    const back = String(redeemed.headers.location).slice(`https://${host}`.length)
    const returned = await visit(host, [...earlier, ...pairsOf(cookieLines(begun))], back)
    return cookieLines(returned).filter((line) => !line.includes('Max-Age=0'))
  }
  return { visit, signIn, configurations }
}

test('endpoints of an account share a session with auth_cookie_domain, until the visitor signs out', async (t) => {
  const { visit, signIn } = await start(t, [{ host: 'a.team.example' }, { host: 'b.team.example' }])

  const lines = await signIn('a.team.example')
  const cookies = pairsOf(lines)
  const responses = [await visit('a.team.example', cookies), await visit('b.team.example', cookies)]

  assert.deepEqual(
    lines.map((line) => line.replace(/^adit\.\w{8}\.([\w.]+)=[\w-]+/, '$1')),
    ['session', 'tokens.0'].map(
      (name) => `${name}; Path=/; Domain=team.example; HttpOnly; SameSite=Lax; Secure`,
    ),
    lines.join(),
  )
  for (const { status, text } of responses) {
    assert.equal(status, 200)
    assert.ok(!text.includes('.session'), text)
  }
  const signedOut = await visit('b.team.example', cookies, '/auth/logout')
  assert.match(
    cookieLines(signedOut)[0]!,
    /^adit\.\w{8}\.session=; Path=\/; Domain=team\.example; Max-Age=0;/,
  )
  assert.equal((await visit('a.team.example', cookies)).status, 302)
})

test('a session is not shared with another sign-in or cookie domain, and not with a host of its own session', async (t) => {
  const others = {
    'id.team.example': { auth_id: 'staff' },
    'client.team.example': { client_id: 'other' },
    'x.deep.team.example': { auth_cookie_domain: 'deep.team.example' },
    'alone.team.example': { auth_cookie_domain: undefined },
  }
  const { visit, signIn } = await start(t, [
    { host: 'a.team.example' },
    ...Object.entries(others).map(([host, config]) => ({ host, config })),
  ])

  const cookies = pairsOf(await signIn('a.team.example'))

  for (const host of Object.keys(others)) {
    assert.equal((await visit(host, cookies)).status, 302, host)
    // Both cookies reach the host, and neither is taken for the other.
    if (host === 'client.team.example') continue
    const own = pairsOf(await signIn(host, cookies))
    assert.equal((await visit(host, [...cookies, ...own])).status, 200, host)
  }
})

test('the cookies of a shared session reach no upstream of the domain, and other cookies do', async (t) => {
  const token = '${actions.ngrok.oidc.access_token}'
  const { visit, signIn } = await start(t, [
    { host: 'a.team.example', laterRules: [{ actions: [{ type: 'log', config: { metadata: { token } } }] }] },
    { host: 'id.team.example', config: { auth_id: 'staff' } },
    { host: 'open.team.example', policy: {} },
  ])
  const cookies = [
    ...pairsOf(await signIn('a.team.example')),
    ...pairsOf(await signIn('id.team.example')),
    ...['adit.theme=dark', 'session=1'],
  ]

  const { status, text } = await visit('open.team.example', cookies)

  assert.equal(status, 200)
  assert.ok(
    cookies.some((cookie) => cookie.includes('.tokens.0=')),
    cookies.join(),
  )
  assert.deepEqual(JSON.parse(text).headers.cookie.split('; '), cookies.slice(-2))
})

test('an endpoint of another account can neither use the session nor have the domain', async (t) => {
  const { visit, signIn } = await start(
    t,
    [
      { host: 'a.team.example' },
      { host: 'evil.team.example', accountId: 'ac_evil' },
      { host: 'lone.team.example', accountId: 'ac_evil', config: { auth_cookie_domain: undefined } },
      { host: 'evil.example', accountId: 'ac_evil' },
      { host: 'below.evil.example', accountId: 'ac_evil', config: { auth_cookie_domain: 'evil.example' } },
    ],
    [
      ['*.team.example', 'ac_test'],
      ['evil.example', 'ac_evil'],
    ],
  )
  const cookies = pairsOf(await signIn('a.team.example'))
  const renamed = cookies.map((cookie) => cookie.replace(/^adit\.\w{8}\./, 'adit.'))

  const denied = await visit('evil.team.example', cookies)
  assert.equal(denied.status, 503)
  assert.match(denied.text, /3313/)
  assert.equal((await visit('lone.team.example', [...cookies, ...renamed])).status, 302)
  assert.equal((await visit('evil.example', cookies)).status, 503)
  const theirs = pairsOf(await signIn('below.evil.example'))
  const [name] = cookies[0]!.split('=')
  assert.equal((await visit('a.team.example', [`${name}=${theirs[0]!.split('=')[1]}`])).status, 302)
})

test('an account that reserves a domain later does not get the sessions of the account before', async (t) => {
  const { visit, signIn, configurations } = await start(
    t,
    [{ host: 'a.team.example' }, { host: 'b.team.example', accountId: 'ac_later' }],
    [
      ['*.team.example', 'ac_test'],
      ['team.example', 'ac_later'],
    ],
  )
  const cookies = pairsOf(await signIn('a.team.example'))

  configurations[0]!.release()

  assert.equal((await visit('a.team.example', cookies)).status, 503)
  assert.equal((await visit('b.team.example', cookies)).status, 302)
})

test('auth_cookie_domain denies requests when the account has not reserved the domain, or it is that of the platform', async (t) => {
  const { visit, configurations } = await start(
    t,
    [
      { host: 'a.team.example' },
      { host: 'a.adit.localhost', config: { auth_cookie_domain: 'adit.localhost' } },
      { host: 'own.example', config: { auth_cookie_domain: 'own.example' } },
      { host: 'x.parent.example', config: { auth_cookie_domain: 'parent.example' } },
    ],
    [
      ['team.example', 'ac_test'],
      ['*.adit.localhost', 'ac_test'],
      ['own.example', 'ac_test'],
      ['x.parent.example', 'ac_test'],
    ],
  )

  assert.equal((await visit('a.team.example')).status, 302)
  assert.equal((await visit('own.example')).status, 302)
  assert.equal((await visit('a.adit.localhost')).status, 503)
  assert.equal((await visit('x.parent.example')).status, 503)
  configurations[0]!.release()
  assert.equal((await visit('a.team.example')).status, 503)
})

test('an endpoint that reads tokens asks again where the shared session has none', async (t) => {
  const body = '${actions.ngrok.oidc.access_token}'
  const { visit, signIn } = await start(t, [
    { host: 'a.team.example' },
    {
      host: 'b.team.example',
      laterRules: [{ actions: [{ type: 'custom-response', config: { body } }] }],
    },
  ])
  const without = pairsOf(await signIn('a.team.example'))

  assert.equal((await visit('b.team.example', without)).status, 302)
  const cookies = pairsOf(await signIn('b.team.example'))

  assert.equal((await visit('b.team.example', cookies)).text, 'x')
  assert.equal((await visit('a.team.example', cookies)).status, 200)
})
