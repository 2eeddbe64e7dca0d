// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are what header values hold
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { CertificateAuthority, IpPolicy, IpPolicyRule } from '../../resources/index.ts'
import { createClientAuthority } from '../testing/client-certificates.ts'
import { type HttpsEdgeHarness, startHttpsEdge } from '../testing/https-edge.ts'
import { bearer, createTokenIssuer } from '../testing/login/token-issuer.ts'
import type { ModuleName } from './index.ts'

/** A module with two settings, and what a client observes. */
interface Case {
  /** Whether it belongs to the edge or to its route. */
  readonly on: 'edge' | 'route'
  settings(harness: HttpsEdgeHarness): Promise<Record<string, unknown>> | Record<string, unknown>
  changed(harness: HttpsEdgeHarness): Promise<Record<string, unknown>> | Record<string, unknown>
  observe(harness: HttpsEdgeHarness): Promise<string>
  /** Without the module, with it, and with the changed settings. */
  readonly expected: readonly [without: string, first: string, second: string]
}

function createPolicy({ config }: HttpsEdgeHarness, cidr: string): string {
  const id = config.create(IpPolicy, {})
  config.create(IpPolicyRule, { ip_policy_id: id, cidr, action: 'allow' })
  return id
}

const clients = await Promise.all(
  ['one', 'two'].map(async (name) => {
    const authority = await createClientAuthority(`authority ${name}`)
    const certificate = await authority.issue(name, { dns: [`${name}.client.test`] })
    return { ...certificate, ca: authority.ca }
  }),
)

/** Which of the two clients are admitted, and the identity the upstream sees. */
async function observeClients({ sendRequest }: HttpsEdgeHarness): Promise<string> {
  const forged = { 'adit-mtls-serial-number': 'forged', adit_mtls_subject_cn: 'forged' }
  const responses = await Promise.all([
    sendRequest({ headers: forged }),
    ...clients.map(({ cert, key }) => sendRequest({ headers: forged, tls: { cert, key } })),
  ])
  return responses
    .map(({ status, text }) => {
      if (status !== 200) return 'no'
      const { headers } = JSON.parse(text) as { headers: Record<string, string> }
      assert.ok(!text.includes('forged'), 'a client must not be able to forge its identity')
      return headers['adit-mtls-subject-alt-name-dns'] ?? 'anonymous'
    })
    .join(' ')
}

const login = {
  cookie_prefix: '',
  inactivity_timeout: 0,
  maximum_duration: 0,
  options_passthrough: false,
}

/** Without a login service, a route that requires sign-in denies all traffic. */
const closedByLogin = {
  on: 'route',
  observe: async ({ sendRequest }: HttpsEdgeHarness) => {
    const { status, headers } = await sendRequest()
    return `${status} ${headers['adit-error-code'] ?? ''}`
  },
  expected: ['200 ', '503 ERR_ADIT_3212', '503 ERR_ADIT_3212'],
} as const

const issuer = await createTokenIssuer()

const cases: Record<ModuleName, Case> = {
  ip_restriction: {
    on: 'route',
    settings: (harness) => ({ ip_policy_ids: [createPolicy(harness, '10.0.0.0/8')] }),
    changed: (harness) => ({
      ip_policy_ids: [createPolicy(harness, '10.0.0.0/8'), createPolicy(harness, '127.0.0.0/8')],
    }),
    observe: async ({ sendRequest }) => {
      const { status, headers } = await sendRequest({ headers: { 'x-forwarded-for': '10.0.0.1' } })
      return `${status} ${headers['adit-error-code'] ?? ''}`
    },
    expected: ['200 ', '403 ERR_ADIT_3203', '200 '],
  },
  mutual_tls: {
    on: 'edge',
    settings: ({ config }) => ({
      certificate_authority_ids: [config.create(CertificateAuthority, { ca_pem: clients[0]!.ca })],
    }),
    changed: ({ config }) => ({
      certificate_authority_ids: [config.create(CertificateAuthority, { ca_pem: clients[1]!.ca })],
    }),
    observe: observeClients,
    expected: ['anonymous anonymous anonymous', 'no one.client.test no', 'no no two.client.test'],
  },
  tls_termination: {
    on: 'edge',
    settings: () => ({ min_version: '1.3' }),
    changed: () => ({ min_version: '1.2' }),
    observe: async ({ sendRequest }) => {
      const statuses = await Promise.all(
        (['TLSv1.2', 'TLSv1.3'] as const).map(
          async (version) =>
            (await sendRequest({ tls: { minVersion: version, maxVersion: version } })).status,
        ),
      )
      return statuses.join(' ')
    },
    expected: ['200 200', '0 200', '200 200'],
  },
  user_agent_filter: {
    on: 'route',
    settings: () => ({ deny: ['(?i:curl)'] }),
    changed: () => ({ deny: ['.*'], allow: ['^curl/'] }),
    observe: async ({ sendRequest }) => {
      const agents = [{ 'user-agent': 'curl/8' }, { 'user-agent': 'Mozilla/5.0' }, {}]
      const statuses = await Promise.all(
        agents.map(async (headers) => (await sendRequest({ headers })).status),
      )
      return statuses.join(' ')
    },
    expected: ['200 200 200', '403 200 403', '200 403 403'],
  },
  webhook_verification: {
    on: 'route',
    settings: () => ({ provider: 'GitHub', secret: 'one' }),
    changed: () => ({ provider: 'github', secret: 'two' }),
    observe: async ({ sendRequest }) => {
      const body = '{"action":"opened"}'
      const signatures = ['one', 'two'].map(
        (secret) => `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
      )
      const statuses = await Promise.all(
        signatures.map(async (signature) => {
          const reply = await sendRequest({
            method: 'POST',
            body,
            headers: { 'x-hub-signature-256': signature },
          })
          // The upstream receives exactly the body that was verified.
          if (reply.status === 200) assert.equal(JSON.parse(reply.text).body, body)
          return reply.status
        }),
      )
      return statuses.join(' ')
    },
    expected: ['200 200', '200 403', '403 200'],
  },
  jwt_validation: {
    on: 'route',
    settings: () => issuer.settings('shop'),
    changed: () => issuer.settings('other'),
    observe: async ({ sendRequest }) => {
      const requests = [{}, bearer(await issuer.sign()), bearer(await issuer.sign({ aud: 'other' }))]
      const statuses = await Promise.all(requests.map(async (request) => (await sendRequest(request)).status))
      return statuses.join(' ')
    },
    expected: ['200 200 200', '401 200 403', '401 403 200'],
  },
  oauth: {
    ...closedByLogin,
    settings: () => ({ ...login, provider: { google: { client_id: 'a', client_secret: 'b' } } }),
    changed: () => ({ ...login, provider: { github: { client_id: 'a', client_secret: 'b' } } }),
  },
  oidc: {
    ...closedByLogin,
    settings: () => ({ ...login, issuer: 'https://id.test', client_id: 'a', client_secret: 'b' }),
    changed: () => ({ ...login, issuer: 'https://other.test', client_id: 'a', client_secret: 'b' }),
  },
  saml: {
    ...closedByLogin,
    settings: () => ({ ...login, idp_metadata_url: 'https://id.test/metadata' }),
    changed: () => ({ ...login, idp_metadata_url: 'https://other.test/metadata' }),
  },
  compression: {
    on: 'route',
    settings: () => ({}),
    changed: () => ({}),
    observe: async ({ sendRequest }) => {
      const { headers } = await sendRequest({
        path: `/${'x'.repeat(1000)}`,
        headers: { 'accept-encoding': 'gzip' },
      })
      return `${headers['content-encoding'] ?? 'plain'} ${headers.vary ?? ''}`
    },
    expected: ['plain ', 'gzip Accept-Encoding', 'gzip Accept-Encoding'],
  },
  response_headers: {
    on: 'route',
    settings: () => ({
      add: { 'X-Given': 'one', 'X-Status': 'is ${res.status_code}' },
      remove: ['content-type'],
    }),
    changed: () => ({ add: { 'X-Given': 'two' } }),
    observe: async ({ sendRequest }) => {
      const { headers } = await sendRequest()
      return [headers['x-given'], headers['x-status'], headers['content-type']].join()
    },
    expected: [',,application/json', 'one,is 200,', 'two,,application/json'],
  },
  request_headers: {
    on: 'route',
    settings: () => ({
      add: { 'X-From': '${conn.client_ip}', Host: 'inside.test' },
      remove: ['host', 'x-mine'],
    }),
    changed: () => ({ add: { 'X-From': 'two ${no.such}' } }),
    observe: async ({ sendRequest }) => {
      const { text } = await sendRequest({ headers: { 'x-mine': 'mine' } })
      const { headers } = JSON.parse(text) as { headers: Record<string, string> }
      return [headers['x-from'], headers['x-mine'], headers.host].join()
    },
    expected: [
      ',mine,shop.adit.localhost',
      '127.0.0.1,,inside.test',
      'two ${no.such},mine,shop.adit.localhost',
    ],
  },
  circuit_breaker: {
    on: 'route',
    settings: () => ({ volume_threshold: 2, error_threshold_percentage: 0.5, tripped_duration: 60 }),
    changed: () => ({ volume_threshold: 4, error_threshold_percentage: 1, tripped_duration: 60 }),
    observe: async ({ sendRequest }) => {
      const statuses: number[] = []
      for (let n = 0; n < 5; n++) statuses.push((await sendRequest({ path: '/fails' })).status)
      return statuses.join(' ')
    },
    expected: ['500 500 500 500 500', '500 500 503 503 503', '500 500 500 500 503'],
  },
  websocket_tcp_converter: {
    on: 'route',
    settings: () => ({}),
    changed: () => ({}),
    observe: async ({ sendRequest }) => {
      const { status, headers } = await sendRequest()
      return `${status} ${headers['adit-error-code'] ?? ''}`
    },
    expected: ['200 ', '400 ERR_ADIT_3206', '400 ERR_ADIT_3206'],
  },
}

for (const [name, { on, settings, changed, observe, expected }] of Object.entries(cases)) {
  test(`${name} acts while it is enabled and follows its settings`, async (t) => {
    const harness = await startHttpsEdge(
      t,
      (request, response) => {
        const { method, url, headers } = request
        const chunks: Buffer[] = []
        request.on('data', (chunk: Buffer) => chunks.push(chunk))
        request.on('end', () => {
          response.statusCode = url === '/fails' ? 500 : 200
          response.setHeader('content-type', 'application/json')
          response.end(JSON.stringify({ method, url, headers, body: Buffer.concat(chunks).toString() }))
        })
      },
      { dependencies: { outbound: { fetch: issuer.fetch } } },
    )
    const scopeId = on === 'edge' ? harness.edgeId : harness.routeId
    const first = await settings(harness)
    const second = await changed(harness)
    const set = async (module: Record<string, unknown> | null) => {
      harness.config.update(scopeId, { [name]: module })
      await eventually(() => harness.edge.scopes.settled, 'the change is applied')
      return observe(harness)
    }

    const without = await observe(harness)
    const enabled = await set(first)
    const disabled = await set({ ...first, enabled: false })
    const changedSettings = await set(second)
    const removed = await set(null)

    assert.deepEqual([without, enabled, changedSettings], expected)
    assert.deepEqual([disabled, removed], [without, without])
  })
}
