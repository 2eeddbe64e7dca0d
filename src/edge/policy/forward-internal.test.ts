import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type TestContext, test } from 'node:test'
import { listen, startHttp } from '../../../test/support/local-server.ts'
import { internalAddress } from '../../naming/index.ts'
import { createTestCertificates } from '../testing/certificates.ts'
import { sendHttp } from '../testing/client.ts'
import { startEdge } from '../testing/edge.ts'
import { echo } from '../testing/https-edge.ts'
import { HTTP_VERSIONS, POLICY_HOST, sendPolicyRequest } from '../testing/policy-endpoint.ts'
import { openRawClient } from '../testing/raw-client.ts'
import { createLocalTunnel, TestTunnels } from '../testing/tunnels.ts'
import { acceptUpgrade, upgradeRequest } from '../testing/web-socket.ts'

type Action = { type: string; config?: object }

const policyOf = (...actions: Action[]) => JSON.stringify({ on_http_request: [{ actions }] })
const forward = (url: string, on_error?: 'continue'): Action => ({
  type: 'forward-internal',
  config: { url, ...(on_error && { on_error }) },
})
const answer = (body: string): Action => ({ type: 'custom-response', config: { body } })

/** Public endpoints over http and https with a policy, and internal ones by host name. */
async function startForwarding(
  t: TestContext,
  trafficPolicy: string,
  internal: Readonly<Record<string, { port: number; trafficPolicy?: string; accountId?: string }>>,
) {
  const upstream = await startHttp(t, (_request, response) => response.end('public upstream'))
  const tunnels = new TestTunnels()
  for (const proto of ['http', 'https'] as const)
    tunnels.add(POLICY_HOST, createLocalTunnel(upstream, { proto, options: { trafficPolicy } }))
  for (const [host, { port, accountId = 'ac_test', ...options }] of Object.entries(internal)) {
    const tunnel = createLocalTunnel(port, { proto: 'https', accountId, options })
    tunnels.tunnels.push({ ...tunnel, address: internalAddress('https', host, 443, accountId) })
  }
  const { ca, lookup } = await createTestCertificates('adit.localhost')
  const { port, tlsPort } = await startEdge(t, tunnels, {}, { certificates: lookup })
  return {
    port,
    ask: async (path = '/') => sendHttp(port, { host: POLICY_HOST, path }),
    askWith: (version: (typeof HTTP_VERSIONS)[number]) =>
      sendPolicyRequest(tlsPort, ca, { host: POLICY_HOST, method: 'POST', body: 'sent' }, version),
  }
}

for (const version of HTTP_VERSIONS)
  test(`forward-internal keeps the public host and runs both policies (${version})`, async (t) => {
    const service = await startHttp(t, echo)
    const addHeader = (name: string): Action => ({
      type: 'add-headers',
      config: { headers: { [name]: 'yes' } },
    })
    const policy = (actions: Action[], header: string) =>
      JSON.stringify({
        on_http_request: [{ actions }],
        on_http_response: [{ actions: [addHeader(header), addHeader('x-last')] }],
      })
    const { askWith } = await startForwarding(
      t,
      policy([addHeader('x-outer'), forward("https://${'app'}.internal")], 'x-outer'),
      { 'app.internal': { port: service, trafficPolicy: policy([addHeader('x-inner')], 'x-inner') } },
    )

    const response = await askWith(version)

    const received = JSON.parse(response.text) as { headers: Record<string, string>; body: string }
    assert.equal(response.status, 200)
    assert.deepEqual(
      [received.headers.host, received.headers['x-outer'], received.headers['x-inner'], received.body],
      [POLICY_HOST, 'yes', 'yes', 'sent'],
    )
    assert.deepEqual([response.headers['x-inner'], response.headers['x-outer']], ['yes', 'yes'])
  })

test('internal endpoints are reachable by policies of their own account alone', async (t) => {
  const service = await startHttp(t, (_request, response) => response.end('internal'))
  const { port, ask } = await startForwarding(t, policyOf(forward('https://app.internal')), {
    'app.internal': { port: service, accountId: 'ac_other' },
  })

  const foreign = await ask()
  const direct = await sendHttp(port, { host: 'app.internal' })

  assert.deepEqual([foreign.status, foreign.headers['adit-error-code']], [404, 'ERR_ADIT_3500'])
  assert.deepEqual([direct.status, direct.headers['adit-error-code']], [404, 'ERR_ADIT_3200'])
})

test('with on_error continue the next action runs where an endpoint is not online or cannot be reached', async (t) => {
  const service = await startHttp(t, (_request, response) => response.end('internal'))
  const results = answer('${actions.ngrok.forward_internal.url} ${actions.ngrok.forward_internal.error.code}')
  const absent = forward('https://absent.internal', 'continue')
  const broken = forward('https://broken.internal', 'continue')
  const cases: [what: string, policy: string, expected: string][] = [
    ['not online', policyOf(absent, results), 'https://absent.internal ERR_ADIT_3500'],
    ['dial failed', policyOf(broken, results), 'https://broken.internal ERR_ADIT_8012'],
    ['failover', policyOf(absent, broken, forward('https://app.internal')), 'internal'],
    ['reached', policyOf(forward('https://app.internal', 'continue'), answer('not this')), 'internal'],
    ['own upstream', policyOf(broken), 'public upstream'],
  ]

  for (const [what, policy, expected] of cases) {
    const { ask } = await startForwarding(t, policy, {
      // Nothing listens there, and no other server of this test gets this port.
      'broken.internal': { port: 1 },
      'app.internal': { port: service },
    })
    assert.equal((await ask()).text, expected, what)
  }
})

test('a circle of forwards is cut', async (t) => {
  const there = policyOf(forward('https://b.internal'))
  const back = policyOf(forward('https://a.internal'))
  const { ask } = await startForwarding(t, policyOf(forward('https://a.internal')), {
    'a.internal': { port: 1, trafficPolicy: there },
    'b.internal': { port: 1, trafficPolicy: back },
  })

  const response = await ask()

  assert.deepEqual([response.status, response.headers['adit-error-code']], [508, 'ERR_ADIT_3501'])
})

test('a WebSocket passes through an internal endpoint', async (t) => {
  const server = createServer()
  server.on('upgrade', (_request, socket) => socket.write(`${acceptUpgrade()}bytes`))
  const { port } = await startForwarding(t, policyOf(forward('https://app.internal', 'continue')), {
    'app.internal': { port: await listen(t, server) },
  })

  const client = openRawClient(t, port).write(upgradeRequest(POLICY_HOST))
  await client.untilText('bytes')

  assert.match(client.text, /^HTTP\/1\.1 101 /)
})

test('forward-internal in on_tcp_connect continues every request of a connection on the internal endpoint', async (t) => {
  const service = await startHttp(t, echo)
  const trafficPolicy = JSON.stringify({
    on_tcp_connect: [
      { actions: [forward('https://gone.internal', 'continue')] },
      {
        expressions: ["actions.ngrok.forward_internal.error.code != ''"],
        actions: [forward('https://app.internal')],
      },
    ],
    on_http_request: [{ actions: [answer('not reached')] }],
  })
  const inner = JSON.stringify({
    on_http_request: [{ actions: [{ type: 'add-headers', config: { headers: { 'x-inner': 'yes' } } }] }],
  })
  const { ask, askWith } = await startForwarding(t, trafficPolicy, {
    'app.internal': { port: service, trafficPolicy: inner },
  })

  const answers = [await ask(), ...(await Promise.all(HTTP_VERSIONS.map(askWith)))]

  for (const { status, text } of answers) {
    assert.equal(status, 200, text)
    assert.equal(JSON.parse(text).headers['x-inner'], 'yes')
  }
})

test('a connection is closed when no internal endpoint serves what on_tcp_connect forwards to', async (t) => {
  const { ask } = await startForwarding(
    t,
    JSON.stringify({ on_tcp_connect: [{ actions: [forward('https://gone.internal')] }] }),
    {},
  )

  assert.notEqual((await ask()).error, '')
})
