import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as requestTls } from 'node:https'
import { type TestContext, test } from 'node:test'
import type { ConnectionOptions } from 'node:tls'
import { startTcp } from '../../../test/support/local-server.ts'
import { CertificateAuthority, IpPolicy, IpPolicyRule, TunnelGroupBackend } from '../../resources/index.ts'
import { createClientAuthority } from '../testing/client-certificates.ts'
import { HOST, type HttpsEdgeHarness, startHttpsEdge } from '../testing/https-edge.ts'
import { createTokenIssuer } from '../testing/login/token-issuer.ts'
import { createLocalTunnel } from '../testing/tunnels.ts'
import { acceptUpgrade, UPGRADE_HEADERS } from '../testing/web-socket.ts'
import type { ModuleName } from './index.ts'

/** The result of a request, whether it asked for WebSocket or not. */
interface Outcome {
  /** 200 for an admitted request and 101 for an admitted upgrade; 0 when there was no response. */
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
}

interface UpgradeHarness extends HttpsEdgeHarness {
  /** The request heads that the upstream received. */
  readonly heads: string[]
  send(kind: Kind, path?: string, tls?: ConnectionOptions): Promise<Outcome>
}

type Kind = 'request' | 'upgrade'
const ADMITTED = { request: 200, upgrade: 101 } as const

/** An edge whose upstream answers requests and accepts WebSocket; both fail below `/fails`. */
async function startHarness(t: TestContext): Promise<UpgradeHarness> {
  const harness = await startHttpsEdge(t, undefined, {
    dependencies: { outbound: { fetch: async () => new Response(null, { status: 404 }) } },
  })
  const heads: string[] = []
  const port = await startTcp(t, (socket) => {
    socket.on('data', (chunk: Buffer) => {
      const head = chunk.toString('latin1')
      heads.push(head)
      if (head.includes(' /fails '))
        socket.write('HTTP/1.1 500 Oh\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
      else if (head.includes('Upgrade: websocket'))
        socket.write(acceptUpgrade('X-Inner: 1', 'Content-Type: text/plain'))
      else
        socket.write(
          'HTTP/1.1 200 OK\r\nX-Inner: 1\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok',
        )
    })
  })
  harness.tunnels.tunnels.push(createLocalTunnel(port, { labels: { app: 'socket' } }))
  const backend_id = harness.config.create(TunnelGroupBackend, { labels: { app: 'socket' } })
  harness.config.update(harness.routeId, { backend: { backend_id } })

  async function send(kind: Kind, path = '/', tls: ConnectionOptions = {}): Promise<Outcome> {
    const request = requestTls({
      port: harness.tlsPort,
      host: '127.0.0.1',
      servername: HOST,
      ca: harness.ca,
      agent: false,
      path,
      headers: { host: HOST, 'user-agent': 'curl/8', ...(kind === 'upgrade' ? UPGRADE_HEADERS : {}) },
      ...tls,
    })
    t.after(() => request.destroy())
    request.end()
    try {
      const [response] = await Promise.race([once(request, 'response'), once(request, 'upgrade')])
      response.socket.on('error', () => {})
      response.resume()
      return { status: response.statusCode, headers: response.headers }
    } catch {
      return { status: 0, headers: {} }
    }
  }

  return { ...harness, heads, send }
}

interface Case {
  readonly on?: 'edge'
  settings(harness: UpgradeHarness): Promise<Record<string, unknown>> | Record<string, unknown>
  check(harness: UpgradeHarness, kind: Kind): Promise<void>
}

/** A module that rejects every request with this code. */
function rejecting(code: string, settings: Case['settings']): Case {
  return {
    settings,
    async check({ send, heads }, kind) {
      const { headers } = await send(kind)
      assert.equal(headers['adit-error-code'], code)
      assert.deepEqual(heads, [], 'the upstream received nothing')
    },
  }
}

/** A module that fails every handshake of this test. */
function failingHandshake(settings: Case['settings'], tls: ConnectionOptions): Case {
  return {
    on: 'edge',
    settings,
    async check({ send, heads }, kind) {
      assert.equal((await send(kind, '/', tls)).status, 0)
      assert.deepEqual(heads, [], 'the upstream received nothing')
    },
  }
}

const login = { cookie_prefix: '', inactivity_timeout: 0, maximum_duration: 0, options_passthrough: false }

const cases: Record<ModuleName, Case> = {
  ip_restriction: rejecting('ERR_ADIT_3203', ({ config }) => {
    const id = config.create(IpPolicy, {})
    config.create(IpPolicyRule, { ip_policy_id: id, cidr: '10.0.0.0/8', action: 'allow' })
    return { ip_policy_ids: [id] }
  }),
  mutual_tls: failingHandshake(async ({ config }) => {
    const { ca } = await createClientAuthority('another authority')
    return { certificate_authority_ids: [config.create(CertificateAuthority, { ca_pem: ca })] }
  }, {}),
  tls_termination: failingHandshake(() => ({ min_version: '1.3' }), { maxVersion: 'TLSv1.2' }),
  user_agent_filter: rejecting('ERR_ADIT_3211', () => ({ deny: ['curl'] })),
  webhook_verification: rejecting('ERR_ADIT_3204', () => ({ provider: 'github', secret: 'one' })),
  jwt_validation: rejecting('ERR_ADIT_3401', async () => (await createTokenIssuer()).settings('shop')),
  // Without a login service, requests are rejected.
  oauth: rejecting('ERR_ADIT_3212', () => ({
    ...login,
    provider: { google: { client_id: 'a', client_secret: 'b' } },
  })),
  oidc: rejecting('ERR_ADIT_3212', () => ({
    ...login,
    issuer: 'https://id.test',
    client_id: 'a',
    client_secret: 'b',
  })),
  saml: rejecting('ERR_ADIT_3212', () => ({ ...login, idp_metadata_url: 'https://id.test/metadata' })),
  compression: {
    settings: () => ({}),
    async check({ send }, kind) {
      const { status, headers } = await send(kind)
      assert.deepEqual([status, headers['content-encoding']], [ADMITTED[kind], undefined])
    },
  },
  response_headers: {
    settings: () => ({ add: { 'X-Given': 'yes' }, remove: ['x-inner'] }),
    async check({ send }, kind) {
      const { status, headers } = await send(kind)
      assert.deepEqual([status, headers['x-given'], headers['x-inner']], [ADMITTED[kind], 'yes', undefined])
    },
  },
  request_headers: {
    settings: () => ({ add: { 'X-Given': 'yes', Host: 'inside.test' }, remove: ['user-agent'] }),
    async check({ send, heads }, kind) {
      assert.equal((await send(kind)).status, ADMITTED[kind])
      assert.match(heads[0]!, /^GET \/ HTTP\/1\.1\r\nHost: inside\.test\r\n/)
      assert.match(heads[0]!, /\r\nx-given: yes\r\n/i)
      assert.ok(!/user-agent/i.test(heads[0]!))
    },
  },
  circuit_breaker: {
    settings: () => ({ volume_threshold: 2, error_threshold_percentage: 0.5, tripped_duration: 60 }),
    async check({ send }, kind) {
      const outcomes: number[] = []
      for (const path of ['/fails', '/fails', '/']) outcomes.push((await send(kind, path)).status)
      assert.deepEqual(outcomes, [500, 500, 503])
    },
  },
  websocket_tcp_converter: {
    settings: () => ({}),
    async check({ send, heads }, kind) {
      const { status, headers } = await send(kind)
      if (kind === 'upgrade') assert.equal(status, 101)
      else assert.equal(headers['adit-error-code'], 'ERR_ADIT_3206')
      assert.deepEqual(heads, [], 'the upstream gets no HTTP')
    },
  },
}

for (const [name, { on, settings, check }] of Object.entries(cases)) {
  for (const kind of ['request', 'upgrade'] as const) {
    test(`${name} acts on a WebSocket as on any request: ${kind}`, async (t) => {
      const harness = await startHarness(t)
      const { config, edgeId, routeId } = harness
      config.update(on === 'edge' ? edgeId : routeId, { [name]: await settings(harness) })
      await config.waitUntilApplied()

      await check(harness, kind)
    })
  }
}

test('an accepted WebSocket counts for the circuit breaker at once, not when it ends', async (t) => {
  const harness = await startHarness(t)
  const { config, routeId, send } = harness
  const circuit_breaker = { volume_threshold: 4, error_threshold_percentage: 1, tripped_duration: 60 }
  config.update(routeId, { circuit_breaker })
  await config.waitUntilApplied()

  // It stays open. If it were not counted, the four failures alone would open the breaker.
  assert.equal((await send('upgrade')).status, 101)
  const outcomes: number[] = []
  for (let n = 0; n < 5; n++) outcomes.push((await send('request', '/fails')).status)

  assert.deepEqual(outcomes, [500, 500, 500, 500, 500])
})
