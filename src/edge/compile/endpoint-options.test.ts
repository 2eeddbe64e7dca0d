import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import {
  sendHttp,
  sendHttps,
  type TestRequest,
  type TestResponse,
} from '../../../test/support/https-client.ts'
import { startHttp, startTcp } from '../../../test/support/local-server.ts'
import { openRawClient } from '../../../test/support/raw-client.ts'
import type { EndpointOptions } from '../contracts/tunnels.ts'
import type { CountUpdate } from '../stats/shared-counts.ts'
import { createTestCertificates } from '../testing/certificates.ts'
import { createClientAuthority } from '../testing/client-certificates.ts'
import { startEdge } from '../testing/edge.ts'
import { echo } from '../testing/https-edge.ts'
import { createLocalTunnel, TestTunnels } from '../testing/tunnels.ts'

const HOST = 'app.adit.localhost'

/** Starts an agent's endpoint with these options over http and https, and returns functions to send requests. */
async function startEndpoint(t: TestContext, options: Partial<EndpointOptions>) {
  const upstream = await startHttp(t, echo)
  const tunnels = new TestTunnels()
  for (const proto of ['http', 'https'] as const)
    tunnels.add(HOST, createLocalTunnel(upstream, { proto, options }))
  const { ca, lookup } = await createTestCertificates('adit.localhost')
  const { port, tlsPort } = await startEdge(t, tunnels, {}, { certificates: lookup })
  return {
    ask: (request: Partial<TestRequest> = {}) => sendHttp(port, { host: HOST, ...request }),
    askSecurely: (request: Partial<TestRequest> = {}) => sendHttps(tlsPort, ca, { host: HOST, ...request }),
  }
}

const basicHeader = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` })

/** The headers the upstream received. */
const upstreamHeaders = ({ text }: TestResponse) =>
  (JSON.parse(text) as { headers: Record<string, string> }).headers

test('basic_auth requires a user name and a password, and accepts nothing else', async (t) => {
  const { ask } = await startEndpoint(t, {
    basicAuth: [
      { username: 'ann', password: 'pässword:1' },
      { username: 'bob', password: 'other-password' },
    ],
  })

  const anonymous = await ask()
  const statuses: Record<string, number> = {}
  for (const text of [
    'ann:pässword:1',
    'bob:other-password',
    'ann:other-password',
    'ann:',
    'ann',
    ':',
    '',
    'ANN:pässword:1',
  ]) {
    statuses[text] = (await ask({ headers: basicHeader(text) })).status
  }
  const twice = await ask({
    headers: {
      authorization: [basicHeader('ann:x').authorization, basicHeader('bob:other-password').authorization],
    },
  })
  const bearer = await ask({ headers: { authorization: 'Bearer bob:other-password' } })

  assert.equal(anonymous.status, 401)
  assert.match(String(anonymous.headers['www-authenticate']), /^Basic realm="/)
  assert.match(anonymous.text, /401 Unauthorized/)
  assert.deepEqual(statuses, {
    'ann:pässword:1': 200,
    'bob:other-password': 200,
    'ann:other-password': 401,
    'ann:': 401,
    ann: 401,
    ':': 401,
    '': 401,
    'ANN:pässword:1': 401,
  })
  assert.deepEqual([twice.status, bearer.status], [401, 401])
})

test('IP rules of an endpoint apply, and an empty allow list admits every address not denied', async (t) => {
  const denied = await startEndpoint(t, { ipRestriction: { allow: [], deny: ['127.0.0.0/8'] } })
  const elsewhere = await startEndpoint(t, { ipRestriction: { allow: ['10.0.0.0/8'], deny: [] } })
  const open = await startEndpoint(t, { ipRestriction: { allow: [], deny: ['10.0.0.0/8'] } })

  const statuses = [await denied.ask(), await elsewhere.ask(), await open.ask()].map(({ status }) => status)

  assert.deepEqual(statuses, [403, 403, 200])
})

test('headers, compression, filters and verification work on endpoints as they do on edges', async (t) => {
  const headers = await startEndpoint(t, {
    requestHeaders: {
      add: [
        ['x-a', 'one'],
        ['x-a', 'two'],
        ['host', 'inside.test'],
      ],
      remove: ['x-mine'],
    },
    responseHeaders: {
      add: [
        ['set-cookie', 'a=1'],
        ['set-cookie', 'b=2'],
      ],
      remove: ['content-type'],
    },
    compression: true,
  })
  const filtered = await startEndpoint(t, { userAgentFilter: { allow: [], deny: ['bot'] } })
  const webhook = await startEndpoint(t, { webhookVerification: { provider: 'GITHUB', secret: 'secret' } })
  const breaker = await startEndpoint(t, { circuitBreaker: { errorThreshold: 0.5 } })
  const signature = `sha256=${createHmac('sha256', 'secret').update('x').digest('hex')}`

  const reply = await headers.ask({ headers: { 'x-mine': 'y' } })
  const bot = await filtered.ask({ headers: { 'user-agent': 'a bot' } })
  const browser = await filtered.ask({ headers: { 'user-agent': 'a browser' } })
  const signed = await webhook.ask({
    method: 'POST',
    body: 'x',
    headers: { 'x-hub-signature-256': signature },
  })
  const forged = await webhook.ask({
    method: 'POST',
    body: 'y',
    headers: { 'x-hub-signature-256': signature },
  })
  const closed = await breaker.ask()

  assert.deepEqual(
    [upstreamHeaders(reply)['x-a'], upstreamHeaders(reply).host, upstreamHeaders(reply)['x-mine']],
    ['one, two', 'inside.test', undefined],
  )
  assert.deepEqual(reply.headers['set-cookie'], ['a=1', 'b=2'])
  assert.equal(reply.headers['content-type'], undefined)
  assert.deepEqual(
    [bot.status, browser.status, signed.status, forged.status, closed.status],
    [403, 200, 200, 403, 200],
  )
})

test('mutual TLS of an endpoint passes the client identity to the upstream', async (t) => {
  const authority = await createClientAuthority('clients')
  const client = await authority.issue('me', { dns: ['me.test'] })
  const { askSecurely: ask } = await startEndpoint(t, { mutualTls: { caPem: authority.ca } })

  const anonymous = await ask()
  const identified = await ask({ tls: client, headers: { 'adit-mtls-subject-cn': 'forged' } })

  assert.equal(anonymous.status, 0)
  assert.deepEqual(
    [
      upstreamHeaders(identified)['adit-mtls-subject-cn'],
      upstreamHeaders(identified)['adit-mtls-subject-alt-name-dns'],
    ],
    ['me', 'me.test'],
  )
})

test('an option that cannot be applied denies all traffic', async (t) => {
  const login = {
    clientId: 'a',
    clientSecret: 'b',
    allowEmails: [],
    allowDomains: [],
    allowGroups: [],
    allowClaims: [],
    scopes: [],
  }
  const options: Partial<EndpointOptions>[] = [
    { basicAuth: [] },
    { ipRestriction: { allow: ['nonsense'], deny: [] } },
    { webhookVerification: { provider: 'vmware', secret: 'x' } },
    { webhookVerification: { provider: 'github', secret: '' } },
    { userAgentFilter: { allow: [], deny: ['(a)\\1'] } },
    { requestHeaders: { add: [['content-length', '0']], remove: [] } },
    { mutualTls: { caPem: 'nonsense' } },
    { oauth: { provider: 'google', ...login } },
    { oauth: { provider: 'myspace', ...login } },
    { oidc: { issuerUrl: 'https://id.test', ...login } },
  ]

  for (const option of options) {
    const { ask } = await startEndpoint(t, option)
    const reply = await ask({ headers: basicHeader('ann:x') })
    assert.deepEqual(
      [reply.status, reply.headers['adit-error-code']],
      [503, 'ERR_ADIT_3212'],
      JSON.stringify(option),
    )
  }
})

test('IP rules reject connections to raw endpoints before a byte is forwarded', async (t) => {
  let connections = 0
  const upstream = await startTcp(t, (socket) => {
    connections++
    socket.end('hello')
  })
  const tunnels = new TestTunnels()
  const { edge } = await startEdge(t, tunnels)
  const [open, closed] = [await edge.ports.acquire(), await edge.ports.acquire()]
  tunnels.ports.set(open, createLocalTunnel(upstream, { proto: 'tcp' }))
  tunnels.ports.set(
    closed,
    createLocalTunnel(upstream, {
      proto: 'tcp',
      options: { ipRestriction: { allow: ['10.0.0.0/8'], deny: [] } },
    }),
  )

  const admitted = await openRawClient(t, open).untilClosed()
  const denied = await openRawClient(t, closed).untilClosed()

  assert.deepEqual([admitted.text, denied.text, connections], ['hello', '', 1])
})

test('the circuit breaker of an endpoint opens by the errors of other processes', async (t) => {
  const upstream = await startHttp(t, (_request, response) => response.writeHead(500).end())
  const tunnel = createLocalTunnel(upstream, { options: { circuitBreaker: { errorThreshold: 0.5 } } })
  const tunnels = new TestTunnels().add(HOST, tunnel)
  const published: CountUpdate[] = []
  const publishCounts = (updates: readonly CountUpdate[]) => published.push(...updates)
  const first = await startEdge(t, tunnels, {}, { publishCounts })
  const second = await startEdge(t, tunnels, {}, { publishCounts() {} })
  const askOnce = async ({ port }: { port: number }) => (await sendHttp(port, { host: HOST })).status
  assert.equal(await askOnce(second), 500)

  let asked = 1
  while ((await askOnce(first)) !== 503) asked++
  assert.equal(await askOnce(second), 500)

  let askedSecond = 2
  await eventually(async () => {
    second.edge.addCounts(published.splice(0))
    askedSecond++
    return (await askOnce(second)) === 503
  })
  assert.ok(askedSecond < asked, `its own ${askedSecond} of ${asked} errors`)
})
