import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as requestTls } from 'node:https'
import { type TestContext, test } from 'node:test'
import type { ConnectionOptions } from 'node:tls'
import { startTcp } from '../../../test/support/local-server.ts'
import { createOutbound } from '../../base/outbound/outbound.ts'
import { internalAddress } from '../../naming/index.ts'
import { type ActionType, readPolicy } from '../../policy/index.ts'
import { OUTBOUND_CALL_LIMITS } from '../services/outbound-calls.ts'
import { createTestCertificates } from '../testing/certificates.ts'
import { startEdge } from '../testing/edge.ts'
import { createTokenIssuer } from '../testing/login/token-issuer.ts'
import { createLocalTunnel, TestTunnels } from '../testing/tunnels.ts'
import { acceptUpgrade, UPGRADE_HEADERS } from '../testing/web-socket.ts'

/** What the upstream sends on the WebSocket after the head that it received. */
const MESSAGE = 'data: secret\n\n'

interface Outcome {
  /** 101 for an admitted upgrade; 0 when there was no response. */
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  /** The head that the upstream received, and its message. */
  readonly sent: string
}

/** Asks for a WebSocket. */
type Upgrade = (request?: {
  path?: string
  headers?: Record<string, string>
  tls?: ConnectionOptions
}) => Promise<Outcome>

interface Case {
  readonly policy: object
  check(upgrade: Upgrade): Promise<void>
}

const onRequest = (...actions: object[]) => ({ on_http_request: [{ actions }] })
const onResponse = (...actions: object[]) => ({ on_http_response: [{ actions }] })

const statusesOf = async (upgrade: Upgrade, ...requests: Parameters<Upgrade>[0][]) => {
  const statuses: number[] = []
  for (const request of requests) statuses.push((await upgrade(request)).status)
  return statuses
}

/** An action that rejects the upgrade with this code. */
const rejecting = (code: string, type: ActionType, config: object): Case => ({
  policy: onRequest({ type, config }),
  async check(upgrade) {
    const { status, headers, sent } = await upgrade()
    assert.deepEqual([headers['adit-error-code'], sent], [code, ''])
    assert.notEqual(status, 101)
  },
})

/** An action that answers in place of the upstream. */
const answering = (status: number, type: ActionType, config: object = {}): Case => ({
  policy: onRequest({ type, config }),
  async check(upgrade) {
    const outcome = await upgrade()
    assert.deepEqual([outcome.status, outcome.sent], [status, ''])
  },
})

/** Acts on bodies or events, of which a WebSocket has none: it passes unchanged. */
const passing = (policy: object): Case => ({
  policy,
  async check(upgrade) {
    const { status, headers, sent } = await upgrade({ headers: { 'accept-encoding': 'gzip' } })
    assert.deepEqual([status, headers['content-encoding']], [101, undefined])
    assert.ok(sent.endsWith(MESSAGE))
  },
})

/** Changes the head that the upstream receives. */
const changing = (policy: object, expected: RegExp): Case => ({
  policy,
  async check(upgrade) {
    const { status, sent } = await upgrade({ headers: { 'x-secret': 'mine' } })
    assert.equal(status, 101)
    assert.match(sent, expected)
    assert.ok(sent.endsWith(MESSAGE))
  },
})

const replacements = [{ from: 'secret', to: 'public' }]
const addHeader = (value: string) => ({ type: 'add-headers', config: { headers: { 'x-added': value } } })
const { settings } = await createTokenIssuer()

const CASES: Readonly<Record<ActionType, Case>> = {
  'add-headers': {
    policy: { ...onRequest(addHeader('in')), ...onResponse(addHeader('${res.status_code}')) },
    async check(upgrade) {
      const { headers, sent } = await upgrade()
      assert.equal(headers['x-added'], '101')
      assert.match(sent, /\r\nx-added: in\r\n/)
    },
  },
  'basic-auth': {
    policy: onRequest({ type: 'basic-auth', config: { credentials: ['user:password'] } }),
    async check(upgrade) {
      const authorization = `Basic ${Buffer.from('user:password').toString('base64')}`
      assert.deepEqual(await statusesOf(upgrade, {}, { headers: { authorization } }), [401, 101])
    },
  },
  'circuit-breaker': {
    policy: onRequest({
      type: 'circuit-breaker',
      config: { error_threshold: 0.5, volume_threshold: 2, tripped_duration: '2m' },
    }),
    async check(upgrade) {
      assert.deepEqual(await statusesOf(upgrade, {}, { path: '/fails' }, {}), [101, 500, 503])
    },
  },
  'close-connection': answering(0, 'close-connection'),
  'compress-response': passing(onResponse({ type: 'compress-response' })),
  'custom-response': answering(418, 'custom-response', { status_code: 418 }),
  deny: answering(403, 'deny'),
  'forward-internal': changing(
    onRequest({ type: 'forward-internal', config: { url: 'https://app.internal' } }),
    /\r\nx-inside: yes\r\n/,
  ),
  // Nothing listens there.
  'http-request': changing(
    onRequest(
      { type: 'http-request', config: { url: 'http://127.0.0.1:1/' } },
      addHeader('${actions.ngrok.http_request.error.code}'),
    ),
    /\r\nx-added: ERR_ADIT_36/,
  ),
  'jwt-validation': rejecting('ERR_ADIT_3401', 'jwt-validation', settings('shop')),
  log: changing(
    onRequest(
      { type: 'log', config: { metadata: { method: '${req.method}' } } },
      addHeader('${actions.ngrok.log.metadata.method}'),
    ),
    /\r\nx-added: GET\r\n/,
  ),
  // Without a login service, requests are rejected.
  oauth: rejecting('ERR_ADIT_3212', 'oauth', { provider: 'google', client_id: 'a', client_secret: 'b' }),
  'openid-connect': rejecting('ERR_ADIT_3212', 'openid-connect', {
    ...{ issuer_url: 'https://id.test', client_id: 'a', client_secret: 'b' },
  }),
  saml: rejecting('ERR_ADIT_3212', 'saml', { idp_metadata_url: 'https://id.test/metadata' }),
  'rate-limit': {
    policy: onRequest({
      type: 'rate-limit',
      config: {
        ...{ name: 'one', algorithm: 'sliding_window', capacity: 1, rate: '24h' },
        bucket_key: ['req.host'],
      },
    }),
    async check(upgrade) {
      assert.deepEqual(await statusesOf(upgrade, {}, {}), [101, 429])
    },
  },
  redirect: answering(302, 'redirect', { to: 'https://elsewhere.test/' }),
  'remove-headers': changing(
    onRequest({ type: 'remove-headers', config: { headers: ['x-secret'] } }),
    /^(?!.*x-secret)/s,
  ),
  'request-body-find-replace': passing(
    onRequest({ type: 'request-body-find-replace', config: { replacements } }),
  ),
  'response-body-find-replace': passing(
    onResponse({ type: 'response-body-find-replace', config: { replacements } }),
  ),
  // It is for what comes before; a WebSocket may be idle.
  'response-timeout': passing(onRequest({ type: 'response-timeout', config: { duration: '1s' } })),
  'restrict-ips': rejecting('ERR_ADIT_3203', 'restrict-ips', { allow: ['10.0.0.0/8'] }),
  'set-vars': changing(
    onRequest({ type: 'set-vars', config: { vars: [{ a: '${req.method}' }] } }, addHeader('${vars.a}')),
    /\r\nx-added: GET\r\n/,
  ),
  'sse-find-replace': passing({
    on_event_stream_message: [{ actions: [{ type: 'sse-find-replace', config: { replacements } }] }],
  }),
  'terminate-tls': {
    policy: { on_tcp_connect: [{ actions: [{ type: 'terminate-tls', config: { min_version: '1.3' } }] }] },
    async check(upgrade) {
      const older = { tls: { maxVersion: 'TLSv1.2' } } as const
      assert.deepEqual(await statusesOf(upgrade, {}, older), [101, 0])
    },
  },
  'url-rewrite': changing(
    onRequest({ type: 'url-rewrite', config: { from: '/$', to: '/rewritten' } }),
    /^GET \/rewritten HTTP\/1\.1\r\n/,
  ),
  'verify-webhook': rejecting('ERR_ADIT_3204', 'verify-webhook', { provider: 'github', secret: 'key' }),
}

/** An upstream that accepts every WebSocket and sends the head it received; below `/fails` it does not. */
const startUpstream = (t: TestContext) =>
  startTcp(t, (socket) => {
    socket.on('data', (chunk: Buffer) => {
      const head = chunk.toString('latin1')
      if (head.startsWith('GET /fails '))
        socket.write('HTTP/1.1 500 Oh\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
      else socket.end(`${acceptUpgrade('Content-Type: text/event-stream')}${head}${MESSAGE}`)
    })
  })

test('every action acts on WebSocket upgrades', async (t) => {
  const upstream = await startUpstream(t)
  const tunnels = new TestTunnels()
  const { ca, lookup } = await createTestCertificates('adit.localhost')
  const policyOutbound = createOutbound({ allow: ['127.0.0.1'], ...OUTBOUND_CALL_LIMITS })
  t.after(() => policyOutbound.close())
  const outbound = { fetch: async () => new Response(null, { status: 404 }) }
  const { tlsPort } = await startEdge(t, tunnels, {}, { certificates: lookup, outbound, policyOutbound })
  const inside = createLocalTunnel(upstream, {
    proto: 'https',
    options: {
      trafficPolicy: JSON.stringify(
        onRequest({ type: 'add-headers', config: { headers: { 'x-inside': 'yes' } } }),
      ),
    },
  })
  tunnels.tunnels.push({ ...inside, address: internalAddress('https', 'app.internal', 443, 'ac_test') })

  for (const [type, { policy, check }] of Object.entries(CASES))
    await t.test(type, async (t) => {
      const host = `${type}.adit.localhost`
      const trafficPolicy = JSON.stringify(policy)
      readPolicy(trafficPolicy, { protocol: 'https', kind: 'endpoint' })
      const tunnel = { proto: 'https', hostport: `${host}:443`, options: { trafficPolicy } } as const
      tunnels.add(host, createLocalTunnel(upstream, tunnel))
      await check(async ({ path = '/', headers = {}, tls = {} } = {}) => {
        const request = requestTls({
          ...{ port: tlsPort, host: '127.0.0.1', servername: host, ca, agent: false, path },
          headers: { host, ...UPGRADE_HEADERS, ...headers },
          ...tls,
        })
        t.after(() => request.destroy())
        request.end()
        try {
          const [response, socket, head] = await Promise.race([
            once(request, 'response'),
            once(request, 'upgrade'),
          ])
          let sent = String(head ?? '')
          if (socket === undefined) response.resume()
          else for await (const chunk of socket) sent += chunk
          return { status: response.statusCode, headers: response.headers, sent }
        } catch {
          return { status: 0, headers: {}, sent: '' }
        }
      })
    })
})
