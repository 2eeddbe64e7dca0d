import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { type TestContext, test } from 'node:test'
import { inflateRawSync } from 'node:zlib'
import { pino } from 'pino'
import type { ForgedResponse } from '../../../test/login/saml-forge.ts'
import type { TestResponse } from '../../../test/support/https-client.ts'
import { listen } from '../../../test/support/local-server.ts'
import { createOutbound } from '../../base/outbound/outbound.ts'
import { Secret } from '../../base/values/secret.ts'
import { createSelfSigned } from '../../certs/index.ts'
import { echo, HOST, startHttpsEdge } from '../testing/https-edge.ts'
import { IDP, setCookies } from '../testing/login/login-page.ts'
import { forgetfulLoginStore } from '../testing/login/login-store.ts'
import { respondWithToken, secondKey, startOpenidProvider } from '../testing/login/openid-provider.ts'
import { createSamlProvider } from '../testing/login/saml-provider.ts'
import type { FailureName } from './failures.ts'
import { type FailedSignIn, LoginService } from './index.ts'

const OTHER = 'other.adit.localhost'
const ROW =
  /^\| `(?<failure>[a-z_]+)` \| (?<status>\d{3}) `(?<code>ERR_ADIT_\d+)`(?:: (?<reason>.*?))? \| (?<cause>.*?) \| (?<owner>.*?) \| (?<log>warn|info|–) \|$/gm
/** What only the owner may read. */
const WORD = 'what <b>the provider</b> said'

/** A page behind an OpenID provider, or a SAML provider, whose failed sign-ins are recorded. */
async function start(t: TestContext) {
  const provider = await startOpenidProvider(t)
  const { issuer, observed } = provider
  const saml = await createSamlProvider()
  const outbound = createOutbound({ allow: ['127.0.0.1'] })
  const time = { ahead: 0 }
  const lines: { level: number; failure?: string }[] = []
  const failed: FailedSignIn[] = []
  let owner = ''
  const used = new Set<string>()
  const logins = new LoginService({
    outbound,
    clock: { now: () => Date.now() + time.ahead, monotonic: () => performance.now() },
    log: pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) }),
    onFailed(accountId, each) {
      owner = accountId
      failed.push(each)
    },
    key: new Secret(randomBytes(32)),
    idpUrl: () => `https://${IDP}`,
    store: { ...forgetfulLoginStore, consume: async (id) => used.size < used.add(id).size },
  })
  t.after(async () => {
    await outbound.close()
    await logins.close()
  })
  const harness = await startHttpsEdge(t, echo, { dependencies: { logins, loginHost: IDP } })
  const { config, edgeId, routeId, sendRequest } = harness
  config.update(edgeId, { hostports: [`${HOST}:443`, `${OTHER}:443`] })

  async function protect(module: 'oidc' | 'saml', settings: Record<string, unknown> = {}, policy?: object) {
    const traffic_policy = policy === undefined ? null : { value: JSON.stringify(policy) }
    config.update(routeId, { oidc: null, saml: null, traffic_policy })
    if (module === 'saml') saml.protect(config, routeId, settings)
    else
      config.update(routeId, {
        oidc: { issuer, client_id: 'app', client_secret: 'app-secret', ...settings },
      })
    await config.waitUntilApplied()
  }

  const open = (path: string, host = HOST, cookies: readonly string[] = []) =>
    sendRequest({
      host,
      servername: host.split(':')[0]!,
      path,
      headers: { accept: 'text/html', cookie: cookies.join('; ') },
    })

  /** Opens the page; returns what its provider needs to answer. */
  async function begin() {
    const { status, headers, text } = await open('/page?x=1')
    assert.equal(status, 302, text)
    const query = new URL(String(headers.location)).searchParams
    observed.nonce = query.get('nonce') ?? ''
    const request = query.get('SAMLRequest')
    const xml = request === null ? '' : inflateRawSync(Buffer.from(request, 'base64')).toString()
    return {
      query,
      requestId: / ID="([^"]+)"/.exec(xml)?.[1] ?? '',
      cookies: setCookies(headers).map((line) => line.split(';', 1)[0]!),
    }
  }

  /** What the provider sends back through the browser, with a code unless it says something else. */
  async function answer(parameters: Record<string, string> = { code: 'c' }) {
    const { query, cookies } = await begin()
    const callback = new URL(query.get('redirect_uri') ?? '')
    const search = new URLSearchParams({ state: query.get('state') ?? '', ...parameters })
    const response = await open(`${callback.pathname}?${search}`, IDP)
    const location = URL.parse(String(response.headers.location))
    return { response, cookies, ticket: location === null ? '' : location.pathname + location.search }
  }

  const post = (path: string, body: string) =>
    sendRequest({
      host: IDP,
      path,
      method: 'POST',
      headers: { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' },
      body,
    })

  /** Posts the response of the SAML provider, to a request unless it has a RelayState of its own. */
  async function respond(response: Partial<ForgedResponse>, relayState?: string) {
    const { query, requestId } = await begin()
    const own = relayState === undefined ? { relayState: query.get('RelayState') ?? '', requestId } : {}
    const { relayState: relay = relayState ?? '', ...request } = own
    const path = `/saml/${routeId}/acs`
    return post(path, saml.formFor(`https://${IDP}/saml/${routeId}`, relay, { ...request, ...response }))
  }

  return {
    ...provider,
    ...{ time, lines, failed, routeId, protect, open, begin, answer, respond, post },
    /** What the dashboard shows. */
    recent: () => logins.failuresOf(owner),
  }
}

type Page = Awaited<ReturnType<typeof start>>

/** An OpenID provider that behaves in a way of its own. */
const oidc =
  (behaviour: Partial<Page['behaviour']>, settings: Record<string, unknown> = {}) =>
  async (page: Page): Promise<TestResponse> => {
    await page.protect('oidc', settings)
    Object.assign(page.behaviour, behaviour)
    return (await page.answer()).response
  }
/** One that rejects the request of the browser, or of the server. */
const oidcError = (error: string) => async (page: Page) => {
  await page.protect('oidc')
  return (await page.answer({ error, error_description: WORD })).response
}
const tokenError = (status: number, error: string) =>
  oidc({
    token: (response) =>
      void response.writeHead(status).end(JSON.stringify({ error, error_description: WORD })),
  })
/** One whose sign-in page cannot be found. */
const oidcStart =
  (behaviour: Partial<Page['behaviour']>, settings: Record<string, unknown> = {}) =>
  async (page: Page): Promise<TestResponse> => {
    await page.protect('oidc', settings)
    Object.assign(page.behaviour, behaviour)
    return page.open('/page?x=1')
  }
const withClaims = (change: Record<string, unknown>) => ({
  claims: (claims: Record<string, unknown>) => ({ ...claims, ...change }),
})
const saml =
  (response: Partial<ForgedResponse>, relayState?: string, settings: Record<string, unknown> = {}) =>
  async (page: Page) => {
    await page.protect('saml', settings)
    return page.respond(response, relayState)
  }
const nowSeconds = Math.floor(Date.now() / 1000)
const encryptedToken = `${Buffer.from('{"alg":"RSA-OAEP","enc":"A256GCM"}').toString('base64url')}.a.b.c.d`

/** How each failure comes about. */
const scenarios: Record<FailureName, (page: Page, t: TestContext) => Promise<TestResponse>> = {
  person_not_allowed: oidc({}, { email_domains: ['other.test'] }),
  group_not_allowed: oidc({}, { authorized_groups: ['ops'] }),
  async rule_denied(page) {
    await page.protect('oidc', {}, { on_http_request: [{ actions: [{ type: 'deny' }] }] })
    const { ticket, cookies } = await page.answer()
    const lines = setCookies((await page.open(ticket, HOST, cookies)).headers)
    return page.open(
      '/page?x=1',
      HOST,
      lines.filter((line) => !line.includes('Max-Age=0')).map((line) => line.split(';', 1)[0]!),
    )
  },
  cancelled: oidcError('access_denied'),
  interaction_required: oidcError('login_required'),
  async expired(page) {
    await page.protect('oidc')
    const { ticket, cookies } = await page.answer()
    page.time.ahead = 61_000
    return page.open(ticket, HOST, cookies)
  },
  async completed(page) {
    const response = { assertionId: '_once' }
    assert.equal((await saml(response, `https://${HOST}/page`)(page)).status, 303)
    return page.respond(response, `https://${HOST}/page`)
  },
  async other_browser(page) {
    await page.protect('oidc')
    return page.open((await page.answer()).ticket)
  },
  async other_page(page) {
    await page.protect('oidc')
    const { ticket, cookies } = await page.answer()
    return page.open(ticket, OTHER, cookies)
  },
  async settings_changed(page) {
    await page.protect('oidc')
    const { ticket, cookies } = await page.answer()
    await page.protect('oidc', { scopes: ['profile'] })
    return page.open(ticket, HOST, cookies)
  },
  not_started_here: (page) => page.open('/oauth2/callback?code=c&state=x', IDP),
  async wrong_port(page) {
    await page.protect('oidc')
    return page.open('/page?x=1', `${HOST}:21000`)
  },
  response_invalid: oidc({ header: { alg: 'none' }, signer: () => Buffer.alloc(0) }),
  idp_initiated_off: saml({}, `https://${HOST}/page`, { allow_idp_initiated: false }),
  page_unknown: saml({}, 'https://elsewhere.example/'),
  async logout_invalid(page) {
    await page.protect('saml')
    return page.post(`/saml/${page.routeId}/slo`, 'SAMLRequest=PHgvPg==')
  },
  client_rejected: tokenError(401, 'invalid_client'),
  code_rejected: tokenError(400, 'invalid_grant'),
  scope_rejected: oidcError('invalid_scope'),
  request_rejected: oidcError('invalid_request'),
  discovery_failed: oidcStart({ describe: (response) => void response.writeHead(404).end(WORD) }),
  issuer_mismatch: oidcStart({ description: { issuer: 'https://login.example/' } }),
  algorithm_unsupported: oidc({ header: { alg: 'HS256' } }),
  token_encrypted: oidc({ token: (response) => respondWithToken(response, encryptedToken) }),
  signature_mismatch: oidc({ key: secondKey }),
  clock_wrong: oidc(withClaims({ exp: nowSeconds - 120 })),
  token_invalid: oidc(withClaims({ aud: 'other' })),
  userinfo_rejected: oidc({
    ...withClaims({ email: undefined }),
    inform: (response) => void response.end(WORD),
  }),
  identity_too_large: oidc(withClaims({ sub: 'x'.repeat(3000) })),
  assertion_unsigned: saml({ sign: 'none' }),
  signature_weak: saml({ signatureAlgorithm: 'sha1' }),
  async assertion_encrypted(page) {
    await page.protect('saml')
    const { query } = await page.begin()
    const xml = '<Response><EncryptedAssertion/></Response>'
    const form = {
      SAMLResponse: Buffer.from(xml).toString('base64'),
      RelayState: query.get('RelayState') ?? '',
    }
    return page.post(`/saml/${page.routeId}/acs`, new URLSearchParams(form).toString())
  },
  audience_mismatch: saml({ audience: 'urn:other' }),
  async provider_untrusted(page, t) {
    const { certificatePem, privateKeyPem } = await createSelfSigned({ commonName: '127.0.0.1' })
    const port = await listen(t, createServer({ cert: certificatePem, key: privateKeyPem.reveal() }))
    return oidcStart({}, { issuer: `https://127.0.0.1:${port}` })(page)
  },
  provider_forbidden: oidcStart({}, { issuer: 'https://10.0.0.1' }),
  provider_down: oidcStart({ describe: (response) => void response.writeHead(503).end(WORD) }),
}

/** The rows of the table that owners read, by the name of the failure. */
const rows = new Map(
  [...readFileSync(new URL('../../../docs/login.md', import.meta.url), 'utf8').matchAll(ROW)].map(
    ({ groups }) => [groups!.failure!, groups!],
  ),
)

const ENTITIES: Readonly<Record<string, string>> = { quot: '"', lt: '<', gt: '>', '#39': "'", amp: '&' }
const unescapeHtml = (html: string) => html.replace(/&([\w#]+);/g, (_, name: string) => ENTITIES[name] ?? '')

test('the table of failures has a row for each', () => {
  assert.deepEqual([...rows.keys()].toSorted(), Object.keys(scenarios).toSorted())
})

for (const [failure, run] of Object.entries(scenarios))
  test(`a sign-in that fails by ${failure} is explained to visitor, owner and log as the table says`, async (t) => {
    const page = await start(t)
    const row = rows.get(failure)!

    const { status, headers, text } = await run(page, t)

    assert.deepEqual([`${status}`, headers['adit-error-code']], [row.status, row.code], text)
    const shown = unescapeHtml(text.replace(/<\/?code>/g, ''))
    const reason = (row.reason ?? '').replace('{person}', 'ada@example.com')
    for (const sentence of [reason, row.owner!.replaceAll('`', '')])
      assert.ok(shown.includes(sentence), `${sentence}\n${shown}`)
    assert.ok(!shown.includes(WORD), shown)
    const level = row.log === '–' ? [] : [row.log === 'warn' ? 40 : 30]
    const lines = page.lines.filter((line) => line.failure === failure)
    assert.deepEqual([lines.map((line) => line.level), page.failed.length], [level, level.length])
    if (level.length === 0) return
    const { cause, setting, provider, public_url, route_id, person } = page.failed[0]!
    const isUnsolicited = public_url === ''
    assert.deepEqual(
      { cause, setting, provider: provider !== '', public_url, route_id, person },
      {
        cause: row.cause,
        setting: row.owner,
        provider: true,
        public_url: isUnsolicited ? '' : `https://${HOST}`,
        route_id: page.routeId,
        person: failure.endsWith('_allowed') ? 'ada@example.com' : undefined,
      },
    )
    assert.deepEqual(page.recent(), page.failed)
  })

test('the owner reads what the provider said, in one line of limited length', async (t) => {
  const page = await start(t)
  await page.protect('oidc')

  await page.answer({ error: 'invalid_scope', error_description: `${'x\r\n'.repeat(500)}` })

  const [failed] = page.failed
  assert.equal(failed!.error, 'invalid_scope')
  assert.equal(failed!.error_description, 'x '.repeat(150))
})

test('a failure that repeats is one line and one event a minute, and all of them are counted', async (t) => {
  const page = await start(t)
  await page.protect('oidc')
  const fail = (description: number) =>
    page.answer({ error: 'invalid_scope', error_description: `try ${description}` })

  for (let each = 1; each <= 30; each++) await fail(each)
  assert.deepEqual([page.lines.length, page.failed.map(({ count }) => count)], [1, [1]])
  page.time.ahead = 60_000
  await fail(31)

  assert.deepEqual([page.lines.length, page.failed.map(({ count }) => count)], [2, [1, 30]])
  assert.deepEqual(
    page.recent().map(({ count, error_description }) => [count, error_description]),
    [[31, 'try 31']],
  )
})

test('strangers who fail at many addresses do not push everything out of memory', async (t) => {
  const page = await start(t)
  await page.protect('oidc', { email_domains: ['other.test'] })

  for (let each = 0; each < 40; each++) {
    Object.assign(page.behaviour, withClaims({ email: `person-${each}@example.com` }))
    await page.answer({ code: `code-${each}` })
  }

  assert.equal(page.recent().length, 20)
  assert.equal(page.recent()[0]!.person, 'person-39@example.com')
})
