// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are what header values hold
import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { test } from 'node:test'
import { inflateRawSync } from 'node:zlib'
import type { TestRequest, TestResponse } from '../../test/support/https-client.ts'
import { systemClock } from '../base/values/clock.ts'
import { Secret } from '../base/values/secret.ts'
import { createSelfSigned } from '../certs/index.ts'
import { LoginService } from '../edge/login/index.ts'
import { type ClientAuthority, createClientAuthority } from '../edge/testing/client-certificates.ts'
import { echo, HOST, type HttpsEdgeHarness, startHttpsEdge } from '../edge/testing/https-edge.ts'
import { IDP, setCookies, startLoginPage } from '../edge/testing/login/login-page.ts'
import { forgetfulLoginStore } from '../edge/testing/login/login-store.ts'
import { createSamlProvider } from '../edge/testing/login/saml-provider.ts'
import { bearer, createTokenIssuer } from '../edge/testing/login/token-issuer.ts'
import { createLocalTunnel } from '../edge/testing/tunnels.ts'
import { readPolicy } from '../policy/index.ts'
import { CertificateAuthority, IpPolicy, IpPolicyRule } from '../resources/index.ts'
import { edgePolicy, type ShownEdge } from './edge-policy.ts'

const ENDPOINT = 'policy.adit.localhost'

const trusted: ClientAuthority = await createClientAuthority('trusted')
const foreign: ClientAuthority = await createClientAuthority('foreign')

const issuer = await createTokenIssuer()

interface Case {
  readonly on: 'edge' | 'route'
  settings(harness: HttpsEdgeHarness): Record<string, unknown>
  /** Sent one after the other. */
  requests(): readonly Partial<TestRequest>[] | Promise<readonly Partial<TestRequest>[]>
  /** What the edge responds with, so that both cannot be wrong alike. */
  readonly statuses: readonly number[]
}

const signed = (body: string) => ({
  'x-hub-signature-256': `sha256=${createHmac('sha256', 'key').update(body).digest('hex')}`,
})

const agent = (name: string) => ({ headers: { 'user-agent': name } })

/** Every module that has an action which needs no identity provider. */
const CASES: Record<string, Case> = {
  ip_restriction: {
    on: 'route',
    settings({ config }) {
      const id = config.create(IpPolicy, {})
      config.create(IpPolicyRule, { ip_policy_id: id, cidr: '127.0.0.1/32', action: 'allow' })
      return { ip_policy_ids: [id] }
    },
    requests: () => [{}, { from: '127.0.0.2' }],
    statuses: [200, 403],
  },
  user_agent_filter: {
    on: 'route',
    settings: () => ({ deny: ['bot'], allow: ['^goodbot'] }),
    requests: () => [agent('a bot'), agent('goodbot'), agent('curl'), {}],
    statuses: [403, 200, 200, 403],
  },
  webhook_verification: {
    on: 'route',
    settings: () => ({ provider: 'GitHub', secret: 'key' }),
    requests: () => [
      { method: 'POST', body: 'a', headers: signed('a') },
      { method: 'POST', body: 'a', headers: signed('b') },
      {},
    ],
    statuses: [200, 403, 403],
  },
  jwt_validation: {
    on: 'route',
    settings: () => issuer.settings('shop'),
    requests: async () => [{}, bearer(await issuer.sign()), bearer(await issuer.sign({ aud: 'other' }))],
    statuses: [401, 200, 403],
  },
  compression: {
    on: 'route',
    settings: () => ({}),
    requests: () => [{ path: '/long', headers: { 'accept-encoding': 'gzip' } }, { path: '/long' }],
    statuses: [200, 200],
  },
  response_headers: {
    on: 'route',
    settings: () => ({
      add: { 'x-method': '${req.method}', 'x-status': '${res.status_code}' },
      remove: ['x-up'],
    }),
    requests: () => [{}, { path: '/500', method: 'PUT' }],
    statuses: [200, 500],
  },
  request_headers: {
    on: 'route',
    settings: () => ({
      add: { 'x-path': '${req.path}', 'x-client': '${conn.client_ip}' },
      remove: ['x-secret'],
    }),
    requests: () => [{ path: '/a/b?c=d', headers: { 'x-secret': '1', 'x-kept': '2' } }],
    statuses: [200],
  },
  circuit_breaker: {
    on: 'route',
    settings: () => ({ volume_threshold: 2, error_threshold_percentage: 0.5, tripped_duration: 120 }),
    requests: () => [{ path: '/500' }, { path: '/500' }, {}],
    statuses: [500, 500, 503],
  },
  mutual_tls: {
    on: 'edge',
    settings: ({ config }) => ({
      certificate_authority_ids: [config.create(CertificateAuthority, { ca_pem: trusted.ca })],
    }),
    requests: async () => [{ tls: await trusted.issue('ann') }, { tls: await foreign.issue('ann') }, {}],
    statuses: [200, 0, 0],
  },
  tls_termination: {
    on: 'edge',
    settings: () => ({ min_version: '1.3' }),
    requests: () => [{}, { tls: { maxVersion: 'TLSv1.2' } }],
    statuses: [200, 0],
  },
}

const upstream: RequestListener = (request, response) => {
  response.statusCode = request.url === '/500' ? 500 : 200
  response.setHeader('x-up', 'yes')
  if (request.url === '/long') response.end('a'.repeat(1000))
  else echo(request, response)
}

/** References as the API shows them: objects instead of ids. */
function shown(settings: object): Record<string, unknown> {
  const toObjects = (ids: unknown) => (ids as string[]).map((id) => ({ id }))
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => {
      if (name === 'ip_policy_ids') return ['ip_policies', toObjects(value)]
      return name === 'certificate_authority_ids'
        ? ['certificate_authorities', toObjects(value)]
        : [name, value]
    }),
  )
}

/** Binds an endpoint of the same edge with the policy that from-edge prints for it. */
function bindPrinted({ config, edgeId, routeId, tunnels, tunnel }: HttpsEdgeHarness) {
  const modulesOf = (id: string) =>
    Object.fromEntries(
      Object.entries(config.record(id)).map(([name, value]) => [
        name,
        typeof value === 'object' && value !== null && 'enabled' in value ? shown(value) : value,
      ]),
    )
  const edge = { ...modulesOf(edgeId), id: edgeId, routes: [{ ...modulesOf(routeId), backend: null }] }
  const trafficPolicy = JSON.stringify(edgePolicy(edge as unknown as ShownEdge).phases)
  readPolicy(trafficPolicy, { protocol: 'https', kind: 'endpoint' })
  const port = Number(tunnel.forwardsTo.split(':').at(-1))
  tunnels.add(
    ENDPOINT,
    createLocalTunnel(port, { proto: 'https', hostport: `${ENDPOINT}:443`, options: { trafficPolicy } }),
  )
}

/** Error pages have headers of their own. */
const SAME = /^x-(?!forwarded|content-type-options)|^content-encoding$|^vary$/

/** What has to be the same: status, coding, the headers that modules add, and what the upstream got. */
function observed({ status, headers, text }: TestResponse): unknown {
  const own = (all: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(all).filter(([name]) => SAME.test(name)))
  if (status !== 200 || !text.startsWith('{')) return { status, headers: own(headers) }
  const { method, url, body, headers: received } = JSON.parse(text)
  return { status, headers: own(headers), received: { method, url, body, headers: own(received) } }
}

for (const [module, { on, settings, requests, statuses }] of Object.entries(CASES))
  test(`${module}: an edge and an endpoint with the printed policy respond alike`, async (t) => {
    const harness = await startHttpsEdge(t, upstream, { dependencies: { outbound: { fetch: issuer.fetch } } })
    const { config, edgeId, routeId, sendRequest } = harness
    config.update(on === 'edge' ? edgeId : routeId, { [module]: settings(harness) })
    await config.waitUntilApplied()
    bindPrinted(harness)

    const byEdge: TestResponse[] = []
    const byPolicy: TestResponse[] = []
    for (const request of await requests()) {
      byEdge.push(await sendRequest(request))
      byPolicy.push(await sendRequest({ ...request, host: ENDPOINT }))
    }

    assert.deepEqual(
      byEdge.map(({ status }) => status),
      statuses,
    )
    assert.deepEqual(byPolicy.map(observed), byEdge.map(observed))
  })

/** Begins a sign-in, lets the provider answer, and returns the status of the last page that the visitor sees. */
async function signIn(
  { sendRequest }: Pick<HttpsEdgeHarness, 'sendRequest'>,
  host: string,
  answer: (query: URLSearchParams) => Partial<TestRequest>,
): Promise<number> {
  const cookieOf = ({ headers }: TestResponse) => ({
    cookie: setCookies(headers)
      .map((line) => line.split(';', 1)[0])
      .join('; '),
  })
  const begun = await sendRequest({ host })
  assert.equal(begun.status, 302)
  const answered = await sendRequest({
    host: IDP,
    ...answer(new URL(String(begun.headers.location)).searchParams),
  })
  if (answered.status !== 303) return answered.status
  const { pathname, search, hostname } = new URL(String(answered.headers.location))
  assert.equal(hostname, host)
  const back = await sendRequest({ host, path: pathname + search, headers: cookieOf(begun) })
  if (back.status !== 303) return back.status
  return (await sendRequest({ host, headers: cookieOf(back) })).status
}

const googleAnswer = (query: URLSearchParams) => ({
  path: `/oauth2/callback?code=c&state=${encodeURIComponent(query.get('state') ?? '')}`,
})

for (const [domain, status] of [
  ['example.com', 200],
  ['other.test', 403],
] as const)
  test(`oauth: an edge and an endpoint with the printed policy end with ${status} for visitors of ${domain}`, async (t) => {
    const client = { client_id: 'app', client_secret: 'secret', scopes: [], email_domains: [domain] }
    const harness = await startLoginPage(t, { provider: { google: client } })
    bindPrinted(harness)

    assert.equal(await signIn(harness, HOST, googleAnswer), status)
    assert.equal(await signIn(harness, ENDPOINT, googleAnswer), status)
  })

test('saml: an edge and an endpoint with the printed policy admit the same groups', async (t) => {
  const { formFor, protect } = await createSamlProvider()
  const logins = new LoginService({
    outbound: { fetch: () => Promise.reject(new Error('nothing is fetched')) },
    clock: systemClock,
    key: new Secret(randomBytes(32)),
    idpUrl: () => `https://${IDP}`,
    store: forgetfulLoginStore,
    requestKey: (accountId) => createSelfSigned({ commonName: accountId }),
  })
  t.after(() => logins.close())
  const harness = await startHttpsEdge(t, upstream, {
    dependencies: { logins, loginHost: IDP },
  })
  protect(harness.config, harness.routeId, { authorized_groups: ['staff'], allow_idp_initiated: false })
  await harness.config.waitUntilApplied()
  bindPrinted(harness)
  /** A provider that says that the visitor belongs to this group. */
  const answerOf = (service: string, group: string) => (query: URLSearchParams) => {
    const request = inflateRawSync(Buffer.from(query.get('SAMLRequest') ?? '', 'base64')).toString()
    const requestId = / ID="([^"]+)"/.exec(request)?.[1] ?? ''
    return {
      path: `/saml/${service}/acs`,
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: formFor(`https://${IDP}/saml/${service}`, query.get('RelayState') ?? '', {
        requestId,
        groups: [group],
      }),
    }
  }

  for (const [group, status] of [
    ['staff', 200],
    ['guests', 403],
  ] as const) {
    assert.equal(await signIn(harness, HOST, answerOf(harness.routeId, group)), status, group)
    assert.equal(await signIn(harness, ENDPOINT, answerOf(ENDPOINT, group)), status, group)
  }
})
