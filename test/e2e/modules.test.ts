import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createClientAuthority } from '../../src/edge/testing/client-certificates.ts'
import { bearer, createTokenIssuer } from '../../src/edge/testing/login/token-issuer.ts'
import { startProvider } from '../login/openid-provider.ts'
import { eventuallyEqual } from '../support/eventually.ts'
import { sendHttps } from '../support/https-client.ts'
import { startHttp } from '../support/local-server.ts'
import { connectLabelled, type EdgeHarness, startEdgeHarness } from './edge-harness.ts'

type Body = Record<string, unknown>

/** A module of a live edge: its settings, and the behaviour a client observes. */
interface Row {
  /** Returns the API path of the module and a function that observes its effect. */
  start(harness: EdgeHarness): Promise<{ path: string; observe: () => Promise<string> }>
  on(harness: EdgeHarness): Promise<Body> | Body
  /** Other settings with an observable difference. */
  changed(harness: EdgeHarness): Promise<Body> | Body
  readonly expected: readonly [disabled: string, enabled: string, changed: string]
}

const clients = await Promise.all(
  ['one', 'two'].map(async (name) => {
    const authority = await createClientAuthority(`authority ${name}`)
    return { ca: authority.ca, certificate: await authority.issue(name) }
  }),
)

const serviceName = (text: string) => (JSON.parse(text) as { name: string }).name
const formatStatus = ({ status, headers }: { status: number; headers: Record<string, unknown> }) =>
  [status, headers['adit-error-code']].filter((part) => part !== undefined).join(' ')

async function createPolicy({ call }: EdgeHarness, cidr: string): Promise<Body> {
  const { id } = await call.create('/ip_policies', {})
  await call.create('/ip_policy_rules', { ip_policy_id: id, cidr, action: 'allow' })
  return { ip_policy_ids: [id] }
}

async function createAuthority({ call }: EdgeHarness, index: 0 | 1): Promise<Body> {
  const { id } = await call.create('/certificate_authorities', { ca_pem: clients[index]!.ca })
  return { certificate_authority_ids: [id] }
}

const idpMetadata = (text: string) =>
  `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="urn:idp"><IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"><KeyDescriptor use="signing"><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data><X509Certificate>${clients[0]!.certificate.cert.replace(/-----[^-]+-----|\s/g, '')}</X509Certificate></X509Data></KeyInfo></KeyDescriptor><SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://idp.example/${text}"/></IDPSSODescriptor></EntityDescriptor>`

const tokenIssuer = createTokenIssuer()

/** Settings that accept tokens for this audience, with a server for their keys. */
async function acceptTokens(t: TestContext, audience: string) {
  const { keySet, settings } = await tokenIssuer
  const port = await startHttp(t, (_request, response) => response.end(JSON.stringify(keySet)))
  const sources = { additional_jkus: [`http://127.0.0.1:${port}/keys`] }
  return { ...settings(audience), jws: { allowed_algorithms: ['ES256'], keys: { sources } } }
}

/** A policy that answers every request itself. */
const respondWith = (status_code: number) =>
  JSON.stringify({
    on_http_request: [{ actions: [{ type: 'custom-response', config: { status_code } }] }],
  })

/** A policy that denies the connections for which an expression is true. */
const denyConnections = (expression: string) =>
  JSON.stringify({ on_tcp_connect: [{ expressions: [expression], actions: [{ type: 'deny' }] }] })

type Ask = Awaited<ReturnType<EdgeHarness['httpsEdge']>>['ask']

/** A module whose effect requests show, wherever it is attached. */
interface HttpModule extends Omit<Row, 'start'> {
  observe(ask: Ask): Promise<string>
}

const onHttpsEdge = (module: string, row: HttpModule): Row => ({
  ...row,
  async start({ httpsEdge }) {
    const { path, ask } = await httpsEdge()
    return { path: `${path}/${module}`, observe: () => row.observe(ask) }
  },
})

const onRoute = (module: string, row: HttpModule): Row => ({
  ...row,
  async start({ httpsEdge }) {
    const { route, ask } = await httpsEdge()
    return { path: `${route}/${module}`, observe: () => row.observe(ask) }
  },
})

const onConfiguration = (module: string, row: HttpModule, credential?: string): Row => ({
  ...row,
  async start({ httpsEndpoint }) {
    const { path, ask } = await httpsEndpoint(credential)
    return { path: `${path}/${module}`, observe: () => row.observe(ask) }
  },
})

/** Returns the URL a client is redirected to for signing in. */
const signInTarget = async (ask: Ask) => {
  const { status, headers } = await ask()
  if (status !== 302) return `${status}`
  const { host, pathname, searchParams } = new URL(String(headers.location))
  return [host.replace(/^127.*/, 'provider') + pathname, searchParams.get('scope') ?? []].flat().join(' ')
}

/** The modules of HTTPS edges, routes and endpoint configurations. */
const httpModules = {
  ip_restriction: {
    observe: async (ask) => formatStatus(await ask()),

    on: (harness) => createPolicy(harness, '10.0.0.0/8'),
    changed: (harness) => createPolicy(harness, '127.0.0.0/8'),
    expected: ['200', '403 ERR_ADIT_3203', '200'],
  },
  user_agent_filter: {
    observe: async (ask) => {
      const statuses = ['curl/8', 'Mozilla/5.0'].map(
        async (agent) => (await ask({ headers: { 'user-agent': agent } })).status,
      )
      return (await Promise.all(statuses)).join(' ')
    },

    on: () => ({ deny: ['curl'] }),
    changed: () => ({ deny: ['Mozilla'] }),
    expected: ['200 200', '403 200', '200 403'],
  },
  webhook_verification: {
    observe: async (ask) => {
      const statuses = ['one', 'two'].map(async (secret) => {
        const signature = `sha256=${createHmac('sha256', secret).update('{}').digest('hex')}`
        return (await ask({ method: 'POST', body: '{}', headers: { 'x-hub-signature-256': signature } }))
          .status
      })
      return (await Promise.all(statuses)).join(' ')
    },

    on: () => ({ provider: 'github', secret: 'one' }),
    changed: () => ({ provider: 'github', secret: 'two' }),
    expected: ['200 200', '200 403', '403 200'],
  },
  jwt_validation: {
    observe: async (ask) => {
      const { sign } = await tokenIssuer
      const tokens = [await sign(), await sign({ aud: 'other' })]
      const statuses = tokens.map(async (token) => (await ask(bearer(token))).status)
      return (await Promise.all(statuses)).join(' ')
    },

    on: ({ t }) => acceptTokens(t, 'shop'),
    changed: ({ t }) => acceptTokens(t, 'other'),
    expected: ['200 200', '200 403', '403 200'],
  },
  oidc: {
    observe: signInTarget,

    on: async ({ t }) => ({
      issuer: (await startProvider(t, 'https://idp.adit.localhost/oauth2/callback')).issuer,
      client_id: 'app',
      client_secret: 'secret',
    }),
    changed: async ({ t }) => ({
      issuer: (await startProvider(t, 'https://idp.adit.localhost/oauth2/callback')).issuer,
      client_id: 'app',
      client_secret: 'secret',
      scopes: ['openid', 'groups'],
    }),
    expected: ['200', 'provider/auth openid profile email', 'provider/auth openid groups'],
  },
  saml: {
    observe: signInTarget,

    on: () => ({ idp_metadata: idpMetadata('first') }),
    changed: () => ({ idp_metadata: idpMetadata('second') }),
    expected: ['200', 'idp.example/first', 'idp.example/second'],
  },
  oauth: {
    observe: async (ask) => (await signInTarget(ask)).split('/')[0]!,

    on: () => ({ provider: { github: { client_id: 'a', client_secret: 'b' } } }),
    changed: () => ({ provider: { gitlab: { client_id: 'a', client_secret: 'b' } } }),
    expected: ['200', 'github.com', 'gitlab.com'],
  },
  compression: {
    observe: async (ask) =>
      String((await ask({ headers: { 'accept-encoding': 'gzip' } })).headers['content-encoding']),
    on: () => ({}),
    changed: () => ({}),
    expected: ['undefined', 'gzip', 'gzip'],
  },
  request_headers: {
    observe: async (ask) => {
      const { status, text } = await ask()
      return status === 200 ? String(JSON.parse(text).headers['x-given']) : `${status}`
    },

    on: () => ({ add: { 'x-given': 'one' } }),
    changed: () => ({ add: { 'x-given': 'two' } }),
    expected: ['undefined', 'one', 'two'],
  },
  response_headers: {
    observe: async (ask) => String((await ask()).headers['x-given']),

    on: () => ({ add: { 'x-given': 'one' } }),
    changed: () => ({ add: { 'x-given': 'two' } }),
    expected: ['undefined', 'one', 'two'],
  },
  circuit_breaker: {
    observe: async (ask) => {
      const statuses: number[] = []
      for (let index = 0; index < 30; index++) statuses.push((await ask({ path: '/fails' })).status)
      return String(statuses.at(-1))
    },

    on: () => ({ error_threshold_percentage: 0.5, volume_threshold: 2, tripped_duration: 60 }),
    changed: () => ({ error_threshold_percentage: 0.5, volume_threshold: 1000, tripped_duration: 60 }),
    expected: ['500', '503', '500'],
  },
  websocket_tcp_converter: {
    observe: async (ask) => formatStatus(await ask()),
    on: () => ({}),
    changed: () => ({}),
    expected: ['200', '400 ERR_ADIT_3206', '400 ERR_ADIT_3206'],
  },
  traffic_policy: {
    observe: async (ask) => `${(await ask()).status}`,

    on: () => ({ value: respondWith(418) }),
    changed: () => ({ value: respondWith(451) }),
    expected: ['200', '418', '451'],
  },
  mutual_tls: {
    async observe(ask) {
      const replies = [
        await ask(),
        await ask({ tls: clients[0]!.certificate }),
        await ask({ tls: clients[1]!.certificate }),
      ]
      return replies.map(({ status }) => status).join(' ')
    },
    on: (harness) => createAuthority(harness, 0),
    changed: (harness) => createAuthority(harness, 1),
    expected: ['200 200 200', '0 200 0', '0 0 200'],
  },
  tls_termination: {
    observe: async (ask) => (await ask({ tls: { maxVersion: 'TLSv1.2' } })).status.toString(),
    on: () => ({ min_version: '1.3' }),
    changed: () => ({ min_version: '1.2' }),
    expected: ['200', '0', '200'],
  },
} satisfies Record<string, HttpModule>

const { mutual_tls, tls_termination, ...routeModules } = httpModules

/** Modules that endpoint configurations have under the same name. */
const SHARED = [
  'circuit_breaker',
  'compression',
  'request_headers',
  'response_headers',
  'mutual_tls',
  'tls_termination',
  'oauth',
  'saml',
  'oidc',
] as const

const rows: Record<string, Row> = {
  'edges/https mutual_tls': onHttpsEdge('mutual_tls', mutual_tls),
  'edges/https tls_termination': onHttpsEdge('tls_termination', tls_termination),
  ...Object.fromEntries(
    Object.entries(routeModules).map(([name, row]) => [`edges/https/routes ${name}`, onRoute(name, row)]),
  ),
  ...Object.fromEntries(
    SHARED.map((name) => [`endpoint_configurations ${name}`, onConfiguration(name, httpModules[name])]),
  ),
  'endpoint_configurations ip_policy': onConfiguration('ip_policy', httpModules.ip_restriction),
  'endpoint_configurations webhook_validation': onConfiguration(
    'webhook_validation',
    httpModules.webhook_verification,
  ),
  'endpoint_configurations basic_auth': onConfiguration(
    'basic_auth',
    {
      async observe(ask) {
        const authorization = `Basic ${Buffer.from('ann:a long password').toString('base64')}`
        const replies = [
          await ask(),
          await ask({ method: 'OPTIONS' }),
          await ask({ headers: { authorization } }),
        ]
        const realm = /realm="([^"]*)"/.exec(String(replies[0]!.headers['www-authenticate']))?.[1]
        return `${realm} ${replies.map(({ status }) => status).join(' ')}`
      },
      on: () => ({ realm: 'Staff', allow_options: true }),
      changed: () => ({ realm: 'Shop' }),
      expected: ['adit 401 401 200', 'Staff 401 200 200', 'Shop 401 401 200'],
    },
    'ann:a long password',
  ),
  'endpoint_configurations backend': onConfiguration('backend', {
    observe: async (ask) => serviceName((await ask()).text),
    on: ({ backends }) => ({ backend_id: backends.one }),
    changed: async ({ call }) => {
      const { id } = await call.create('/backends/http_response', { body: '{"name":"fixed"}' })
      return { backend_id: id }
    },
    expected: ['two', 'one', 'fixed'],
  }),
  'endpoint_configurations ip_policy of a TCP address': {
    async start({ tcpEndpoint }) {
      const { path, probe } = await tcpEndpoint()
      return { path: `${path}/ip_policy`, observe: probe }
    },
    on: (harness) => createPolicy(harness, '10.0.0.0/8'),
    changed: (harness) => createPolicy(harness, '127.0.0.0/8'),
    expected: ['two', 'no', 'two'],
  },
  'endpoint_configurations backend of a TCP address': {
    async start({ tcpEndpoint }) {
      const { path, probe } = await tcpEndpoint()
      return { path: `${path}/backend`, observe: probe }
    },
    on: ({ backends }) => ({ backend_id: backends.rawOne }),
    changed: ({ backends }) => ({ backend_id: backends.rawTwo }),
    expected: ['two', 'one', 'two'],
  },
  'edges/https/routes backend': {
    async start({ httpsEdge }) {
      const { route, ask } = await httpsEdge({})
      const observe = async () => {
        const reply = await ask()
        return reply.status === 200 ? serviceName(reply.text) : formatStatus(reply)
      }
      return { path: `${route}/backend`, observe }
    },
    on: ({ backends }) => ({ backend_id: backends.one }),
    changed: ({ backends }) => ({ backend_id: backends.two }),
    expected: ['503 ERR_ADIT_6528', 'one', 'two'],
  },
  'edges/tls backend': {
    async start({ tlsEdge }) {
      const { path, probe } = await tlsEdge({})
      return { path: `${path}/backend`, observe: () => probe() }
    },
    on: ({ backends }) => ({ backend_id: backends.rawOne }),
    changed: ({ backends }) => ({ backend_id: backends.rawTwo }),
    expected: ['no', 'one in TLS', 'two in TLS'],
  },
  'edges/tls traffic_policy': {
    async start({ tlsEdge, backends }) {
      const { path, probe } = await tlsEdge({ backend: { backend_id: backends.rawOne } })
      return { path: `${path}/traffic_policy`, observe: () => probe() }
    },
    on: () => ({ value: denyConnections('true') }),
    changed: () => ({ value: denyConnections('false') }),
    expected: ['one in TLS', 'no', 'one in TLS'],
  },
  'edges/tls ip_restriction': {
    async start({ tlsEdge, backends }) {
      const { path, probe } = await tlsEdge({ backend: { backend_id: backends.rawOne } })
      return { path: `${path}/ip_restriction`, observe: () => probe() }
    },
    on: (harness) => createPolicy(harness, '10.0.0.0/8'),
    changed: (harness) => createPolicy(harness, '127.0.0.0/8'),
    expected: ['one in TLS', 'no', 'one in TLS'],
  },
  'edges/tls mutual_tls': {
    async start({ tlsEdge, backends }) {
      const { path, probe } = await tlsEdge({
        backend: { backend_id: backends.rawOne },
        tls_termination: { terminate_at: 'edge' },
      })
      const observe = async () =>
        [await probe(), await probe(clients[0]!.certificate), await probe(clients[1]!.certificate)].join(' ')
      return { path: `${path}/mutual_tls`, observe }
    },
    on: (harness) => createAuthority(harness, 0),
    changed: (harness) => createAuthority(harness, 1),
    expected: ['one one one', 'no one no', 'no no one'],
  },
  'edges/tls tls_termination': {
    async start({ tlsEdge, backends }) {
      const { path, probe } = await tlsEdge({ backend: { backend_id: backends.rawOne } })
      const observe = async () => `${await probe({ maxVersion: 'TLSv1.2' })}, ${await probe()}`
      return { path: `${path}/tls_termination`, observe }
    },
    on: () => ({ terminate_at: 'edge', min_version: '1.3' }),
    changed: () => ({ terminate_at: 'edge', min_version: '1.2' }),
    expected: ['one in TLS, one in TLS', 'no, one', 'one, one'],
  },
  'edges/tls tls_termination at the upstream': {
    async start({ tlsEdge, backends }) {
      const { path, probe } = await tlsEdge({ backend: { backend_id: backends.rawOne } })
      return { path: `${path}/tls_termination`, observe: () => probe() }
    },
    on: () => ({ terminate_at: 'edge' }),
    changed: () => ({ terminate_at: 'upstream' }),
    expected: ['one in TLS', 'one', 'one in TLS'],
  },
  'edges/tcp backend': {
    async start({ tcpEdge }) {
      const { path, probe } = await tcpEdge({})
      return { path: `${path}/backend`, observe: probe }
    },
    on: ({ backends }) => ({ backend_id: backends.rawOne }),
    changed: ({ backends }) => ({ backend_id: backends.rawTwo }),
    expected: ['no', 'one', 'two'],
  },
  'edges/tcp ip_restriction': {
    async start({ tcpEdge, backends }) {
      const { path, probe } = await tcpEdge({ backend: { backend_id: backends.rawOne } })
      return { path: `${path}/ip_restriction`, observe: probe }
    },
    on: (harness) => createPolicy(harness, '10.0.0.0/8'),
    changed: (harness) => createPolicy(harness, '127.0.0.0/8'),
    expected: ['one', 'no', 'one'],
  },
  'edges/tcp traffic_policy': {
    async start({ tcpEdge, backends }) {
      const { path, probe } = await tcpEdge({ backend: { backend_id: backends.rawOne } })
      return { path: `${path}/traffic_policy`, observe: probe }
    },
    on: () => ({ value: denyConnections('true') }),
    changed: () => ({ value: denyConnections('false') }),
    expected: ['one', 'no', 'one'],
  },
}

/** For each kind of backend, the bodies that make it lead to service one and then to service two. */
const kinds: Record<
  string,
  (harness: EdgeHarness) => Promise<[initial: Body, changed: Body]> | [Body, Body]
> = {
  static: ({ ports }) => [{ address: `127.0.0.1:${ports.one}` }, { address: `127.0.0.1:${ports.two}` }],
  http_response: () => [
    { body: '{"name":"one"}', status_code: 200 },
    { body: '{"name":"two"}', status_code: 200 },
  ],
  weighted: ({ backends: { one, two } }) => [
    { backends: { [one]: 1, [two]: 0 } },
    { backends: { [one]: 0, [two]: 1 } },
  ],
  failover: ({ backends: { none, one, two } }) => [{ backends: [none, one] }, { backends: [two, one] }],
  tunnel_group: async ({ t, platform, ports }) => {
    await connectLabelled(t, platform, ports.one, { app: 'shop', copy: 'one' })
    await connectLabelled(t, platform, ports.two, { app: 'shop', copy: 'two' })
    return [{ labels: { copy: 'one' } }, { labels: { copy: 'two' } }]
  },
}

test('every module takes effect while enabled, and not while disabled or deleted', async (t) => {
  const harness = await startEdgeHarness(t)
  const { call } = harness

  for (const [name, row] of Object.entries(rows)) {
    await t.test(name, async () => {
      const [disabled, enabled, changed] = row.expected
      const { path, observe } = await row.start(harness)
      const set = async (body: Body) => {
        const response = await call('PUT', path, { body })
        assert.equal(response.status, 200, JSON.stringify(response.body))
      }
      const first = await row.on(harness)
      assert.notEqual(enabled, disabled, 'the observation must depend on the module')

      await eventuallyEqual(observe, disabled, 'without')
      await set(first)
      await eventuallyEqual(observe, enabled, 'on')
      await set({ ...first, enabled: false })
      await eventuallyEqual(observe, disabled, 'off')
      await set(await row.changed(harness))
      await eventuallyEqual(observe, changed, 'changed')
      await set(first)
      await eventuallyEqual(observe, enabled, 'on again')
      assert.equal((await call('DELETE', path)).status, 204)
      await eventuallyEqual(observe, disabled, 'removed')
    })
  }
})

test('the SAML metadata of an endpoint configuration is served at the URL that the module shows', async (t) => {
  const { call, httpsEndpoint, platform } = await startEdgeHarness(t)
  const { path } = await httpsEndpoint()

  const { body } = await call('PUT', `${path}/saml`, { body: { idp_metadata: idpMetadata('first') } })

  const { host, hostname, pathname } = new URL(body.metadata_url)
  const port = Number(host.slice(hostname.length + 1))
  const metadata = async () => sendHttps(port, platform.caPem, { host: hostname, path: pathname })
  await eventuallyEqual(async () => (await metadata()).status, 200, 'the metadata is served')
  assert.ok((await metadata()).text.includes(body.assertion_consumer_service_url))
})

test('every kind of backend serves while enabled, and not while disabled or deleted', async (t) => {
  const harness = await startEdgeHarness(t)
  const { call, httpsEdge } = harness

  for (const [kind, createBodies] of Object.entries(kinds)) {
    await t.test(kind, async () => {
      const [initial, changed] = await createBodies(harness)
      const { id: backend_id } = await call.create(`/backends/${kind}`, initial)
      const { route, ask } = await httpsEdge({})
      const observe = async () => {
        const replies = await Promise.all(Array.from({ length: 5 }, () => ask()))
        return [
          ...new Set(
            replies.map((reply) => (reply.status === 200 ? serviceName(reply.text) : formatStatus(reply))),
          ),
        ].join()
      }
      const set = async (enabled: boolean) =>
        assert.equal((await call('PUT', `${route}/backend`, { body: { backend_id, enabled } })).status, 200)
      const noBackend = '503 ERR_ADIT_6528'

      await eventuallyEqual(observe, noBackend, 'without')
      await set(true)
      await eventuallyEqual(observe, 'one', 'on')
      await set(false)
      await eventuallyEqual(observe, noBackend, 'off')
      await set(true)
      assert.equal((await call('PATCH', `/backends/${kind}/${backend_id}`, { body: changed })).status, 200)
      await eventuallyEqual(observe, 'two', 'changed')
      assert.equal((await call('DELETE', `/backends/${kind}/${backend_id}`)).status, 409, 'it is in use')
      assert.equal((await call('DELETE', `${route}/backend`)).status, 204)
      await eventuallyEqual(observe, noBackend, 'removed')
      assert.equal((await call('DELETE', `/backends/${kind}/${backend_id}`)).status, 204)
    })
  }
})

test('the tables cover every module and every kind of backend of the API', async () => {
  const file = join(import.meta.dirname, '../../docs/openapi.json')
  const { paths } = JSON.parse(await readFile(file, 'utf8')) as { paths: Record<string, Body> }

  const modules = Object.keys(paths).flatMap((path) => {
    const [, scope, module] =
      /^\/(edges\/(?:https|tls|tcp).*|endpoint_configurations)\/\{id\}\/([a-z_]+)$/.exec(path) ?? []
    return module !== undefined && paths[path]!.put ? [`${scope!.replace('/{edge_id}', '')} ${module}`] : []
  })
  const backendKinds = Object.keys(paths).flatMap((path) => /^\/backends\/([a-z_]+)$/.exec(path)?.[1] ?? [])

  assert.ok(modules.length > 15)
  assert.deepEqual(
    modules.filter((name) => !(name in rows)),
    [],
  )
  assert.deepEqual(backendKinds.sort(), Object.keys(kinds).sort())
})
