import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type TestContext, test } from 'node:test'
import { sendHttp, type TestRequest } from '../../../test/support/https-client.ts'
import { listen, startHttp } from '../../../test/support/local-server.ts'
import { openRawClient } from '../../../test/support/raw-client.ts'
import { internalAddress } from '../../naming/index.ts'
import type { EdgeDependencies } from '../edge.ts'
import { createTestCertificates } from '../testing/certificates.ts'
import { startEdge } from '../testing/edge.ts'
import { echo } from '../testing/https-edge.ts'
import { bearer, createTokenIssuer } from '../testing/login/token-issuer.ts'
import { HTTP_VERSIONS, POLICY_HOST, sendPolicyRequest } from '../testing/policy-endpoint.ts'
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
  dependencies: Partial<EdgeDependencies> = {},
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
  const { port, tlsPort } = await startEdge(t, tunnels, {}, { certificates: lookup, ...dependencies })
  return {
    port,
    ask: async (path = '/') => sendHttp(port, { host: POLICY_HOST, path }),
    askTls: (request: Partial<TestRequest>) =>
      sendPolicyRequest(tlsPort, ca, { host: POLICY_HOST, ...request }, 'HTTP/1.1'),
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
    ['closed', policyOf(broken, results), 'https://broken.internal ERR_ADIT_8016'],
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

/** Nothing outside may be called. */
const OFFLINE = { fetch: () => Promise.reject(new Error('nothing may be called')) }

test('http-request calls internal endpoints of the account, and no others', async (t) => {
  const service = await startHttp(t, async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    if (request.url === '/moved') response.writeHead(307, { location: 'https://check.internal/there' }).end()
    else if (request.url === '/large') response.end(Buffer.alloc(300 * 1024))
    else
      response
        .writeHead(201, { 'x-seen': request.url })
        .end(`${request.method} ${request.headers.host} ${body}`)
  })
  const call = (url: string): Action => ({
    type: 'http-request',
    config: { url: `https://${url}`, method: 'POST', body: 'token ${req.host}' },
  })
  const result = 'actions.ngrok.http_request'
  const show = answer(
    `\${${result}.res.status_code} \${${result}.res.header['x-seen'][0]} \${${result}.res.body}`,
  )
  const fail = answer(`\${${result}.error.code}`)
  const policy = {
    on_http_request: [
      { expressions: ["req.url.path == '/a'"], actions: [call('check.internal/a'), show] },
      { expressions: ["req.url.path == '/moved'"], actions: [call('check.internal/moved'), show] },
      { expressions: ["req.url.path == '/large'"], actions: [call('check.internal/large'), fail] },
      { expressions: ["req.url.path == '/foreign'"], actions: [call('foreign.internal/'), fail] },
      {
        expressions: ["req.url.path == '/closed'"],
        actions: [call('closed.internal/'), answer(`\${${result}.res.status_code}`)],
      },
    ],
  }
  const denied = policyOf({ type: 'deny', config: { status_code: 418 } })
  const { ask } = await startForwarding(
    t,
    JSON.stringify(policy),
    {
      'check.internal': { port: service },
      'closed.internal': { port: service, trafficPolicy: denied },
      'foreign.internal': { port: service, accountId: 'ac_other' },
    },
    { policyOutbound: OFFLINE },
  )

  assert.equal((await ask('/a')).text, `201 /a POST check.internal token ${POLICY_HOST}`)
  assert.equal((await ask('/moved')).text, `201 /there POST check.internal token ${POLICY_HOST}`)
  assert.equal((await ask('/large')).text, 'ERR_ADIT_3601')
  assert.match((await ask('/foreign')).text, /^ERR_ADIT_36/)
  assert.equal((await ask('/closed')).text, '418')
})

test('jwt-validation reads key sets of internal endpoints of the account', async (t) => {
  const { url: issuer, keySet, sign } = await createTokenIssuer('https://keys.internal')
  const service = await startHttp(t, (request, response) => {
    response.end(
      JSON.stringify(request.url === '/keys' ? keySet : { jwks_uri: 'https://keys.internal/keys' }),
    )
  })
  const validation = (keys: object): Action => ({
    type: 'jwt-validation',
    config: {
      issuer: { allow_list: [{ value: issuer }] },
      http: { tokens: [{ type: 'jwt', method: 'header', name: 'Authorization', prefix: 'Bearer ' }] },
      jws: { allowed_algorithms: ['ES256'], ...keys },
    },
  })
  const named = { keys: { sources: { additional_jkus: ['https://keys.internal/keys'] } } }
  for (const keys of [named, {}]) {
    const own = await startForwarding(
      t,
      policyOf(validation(keys), answer('admitted')),
      { 'keys.internal': { port: service } },
      { outbound: OFFLINE },
    )
    const other = await startForwarding(
      t,
      policyOf(validation(keys), answer('admitted')),
      { 'keys.internal': { port: service, accountId: 'ac_other' } },
      { outbound: OFFLINE },
    )
    const request = bearer(await sign())

    assert.equal((await own.askTls(request)).text, 'admitted')
    assert.notEqual((await other.askTls(request)).text, 'admitted')
  }
})
