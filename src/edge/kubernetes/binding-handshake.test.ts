import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { before, type TestContext, test } from 'node:test'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { eventually, eventuallyEqual } from '../../../test/support/eventually.ts'
import { startHttp, startTcp } from '../../../test/support/local-server.ts'
import { openRawClient } from '../../../test/support/raw-client.ts'
import { encodeText } from '../../base/text/protobuf.ts'
import { kubernetesAddress } from '../../naming/index.ts'
import { KubernetesOperator } from '../../resources/index.ts'
import { type EndpointOptions, TunnelBusy } from '../contracts/tunnels.ts'
import type { EdgeConfig } from '../edge.ts'
import { createTestCertificates } from '../testing/certificates.ts'
import { type ClientCertificate, createClientAuthority } from '../testing/client-certificates.ts'
import { TestConfiguration } from '../testing/configuration.ts'
import { shortLimits, startEdge } from '../testing/edge.ts'
import { clusterRequest, ForwarderClient, framed, type TestPod } from '../testing/forwarder-client.ts'
import { sendHttp2 } from '../testing/http2-client.ts'
import { TestObserver } from '../testing/observer.ts'
import { createLocalTunnel, type LocalTunnel, TestTunnels } from '../testing/tunnels.ts'

const INGRESS = 'kubernetes-bindings.adit.localhost'
const ACCOUNT = 'ac_test'

let server: Awaited<ReturnType<typeof createTestCertificates>>
let authority: Awaited<ReturnType<typeof createClientAuthority>>
let certificate: ClientCertificate
let others: { renewed: ClientCertificate; foreign: ClientCertificate; expired: ClientCertificate }
before(async () => {
  server = await createTestCertificates('adit.localhost')
  authority = await createClientAuthority('operators')
  certificate = await authority.issue('operator')
  others = {
    renewed: await authority.issue('operator'),
    foreign: await (await createClientAuthority('elsewhere')).issue('operator'),
    expired: await authority.issue('operator', { expired: true }),
  }
})

/** The record of an operator that has this certificate. */
function operatorRecord({ cert }: ClientCertificate, endpoint_selectors = ['all'], features = ['bindings']) {
  const { validFromDate, validToDate } = new X509Certificate(cert)
  const record = KubernetesOperator.parseCreate({
    enabled_features: features,
    binding: { endpoint_selectors, csr: 'PEM' },
  })
  return {
    ...record,
    binding: {
      ...record.binding,
      cert: { cert, not_before: validFromDate.toISOString(), not_after: validToDate.toISOString() },
    },
  }
}

/** The same with a certificate that no server has issued. */
const withCertificate = (record: ReturnType<typeof operatorRecord>, cert: object) => ({
  ...record,
  binding: { ...record.binding, cert: { ...record.binding.cert, ...cert } },
})

interface Bound {
  readonly url: string
  readonly port: number
  readonly metadata?: string
  readonly account?: string
  readonly options?: Partial<EndpointOptions>
}

function boundTunnel({ url, port, metadata = '', account = ACCOUNT, options = {} }: Bound): LocalTunnel {
  const [proto, host, servicePort] = url.split(/:\/\/|:/) as ['http' | 'tls' | 'tcp', string, string]
  const tunnel = createLocalTunnel(port, { accountId: account, metadata, options })
  return { ...tunnel, address: kubernetesAddress(proto, host, Number(servicePort), account) }
}

/** An edge with the ingress, an operator that selects all endpoints, and these endpoints. */
async function startIngress(
  t: TestContext,
  bound: readonly Bound[],
  { config = {} }: { config?: Partial<EdgeConfig> } = {},
) {
  const tunnels = new TestTunnels()
  tunnels.tunnels.push(...bound.map(boundTunnel))
  const observer = new TestObserver(ACCOUNT)
  const { edge, tlsPort, port } = await startEdge(t, tunnels, config, {
    certificates: server.lookup,
    observe: observer,
    bindingIngress: {
      host: INGRESS,
      // Instead of CEL, which this part does not know: `all`, or the metadata.
      compileSelectors: (selectors) => (tunnel) =>
        selectors.some((selector) => selector === 'all' || selector === tunnel.metadata),
    },
  })
  const configuration = new TestConfiguration(edge, ACCOUNT)
  const operatorId = 'k8sop_test'
  const write = async (record: object) => {
    configuration.write(KubernetesOperator, operatorId, record)
    await configuration.waitUntilApplied()
  }
  await write(operatorRecord(certificate))
  const open = (options: ConnectionOptions = certificate) =>
    ForwarderClient.open(t, { port: tlsPort, servername: INGRESS, ca: server.ca, ...options })
  return {
    tunnels,
    observer,
    port,
    write,
    open,
    async removeOperator() {
      configuration.remove(operatorId)
      await configuration.waitUntilApplied()
    },
    /** Connects to a service, and returns the client with the response that it got. */
    async connect(host: string, servicePort: number, pod?: TestPod, options?: ConnectionOptions) {
      const client = open(options).write(clusterRequest(host, servicePort, pod))
      return { client, response: await client.response() }
    },
  }
}

const get = (host: string, path = '/') => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`
const startEcho = (t: TestContext) => startTcp(t, (socket) => socket.pipe(socket))
const startGreeting = (t: TestContext, greeting = 'hello') =>
  startHttp(t, ({ headers, url }, response) =>
    response.end(`${greeting} ${headers.host} ${url} for ${headers['x-forwarded-for']}`),
  )

test('requests of a cluster reach the http endpoint of their service, whatever host they name', async (t) => {
  const port = await startGreeting(t)
  const { connect, observer, tunnels } = await startIngress(t, [{ url: 'http://web.shop:80', port }])

  const { client, response } = await connect('web.shop', 80)
  client.write(get('web.shop', '/a')).write(get('web', '/b'))
  await client.untilText('/b for')

  assert.deepEqual(response, [`1 ${tunnels.tunnels[0]?.id.replace('tn_', 'ep_')}`, '2 http'])
  assert.match(client.answer, /hello web\.shop \/a for 127\.0\.0\.1.*hello web \/b/s)
  await eventuallyEqual(() => observer.requests.map(({ target }) => target), ['/a', '/b'])
})

test('clients in a cluster may speak HTTP/2 with prior knowledge', async (t) => {
  const port = await startGreeting(t)
  const { connect, observer, removeOperator } = await startIngress(t, [{ url: 'http://web.shop:80', port }])
  const { client } = await connect('web.shop', 80)
  const session = client.startHttp2(t, 'web.shop')

  const answers = [
    await sendHttp2(session, { ':path': '/a', ':authority': 'web.shop' }),
    await sendHttp2(session, { ':path': '/b', ':authority': 'web' }),
  ]

  assert.deepEqual(
    answers.map(({ body }) => body.toString()),
    ['hello web.shop /a for 127.0.0.1', 'hello web /b for 127.0.0.1'],
  )
  await eventuallyEqual(() => observer.requests.map(({ target }) => target), ['/a', '/b'])
  await removeOperator()
  const { headers } = await sendHttp2(session, { ':path': '/c', ':authority': 'web.shop' })
  assert.equal(headers['adit-error-code'], 'ERR_ADIT_3200')
})

test('requests of HTTP/2 end when the operator no longer selects their endpoint', async (t) => {
  const port = await startHttp(t, (_request, response) => {
    response.write('begin')
  })
  const { connect, write } = await startIngress(t, [{ url: 'http://web.shop:80', port, metadata: 'blue' }])
  const { client } = await connect('web.shop', 80)
  const stream = client.startHttp2(t, 'web.shop').request({ ':path': '/' })
  stream.on('error', () => {})
  let received = ''
  stream.on('data', (chunk: Buffer) => {
    received += chunk
  })
  await eventuallyEqual(() => received, 'begin')

  await write(operatorRecord(certificate, ['green']))

  await eventually(() => stream.closed, 'the stream is reset')
})

test('bytes of a cluster reach the tcp and tls endpoints of their services unchanged', async (t) => {
  const port = await startEcho(t)
  const { connect, observer } = await startIngress(t, [
    { url: 'tcp://db.shop:5432', port },
    { url: 'tls://web.shop:443', port },
  ])

  for (const [host, servicePort, proto] of [
    ['db.shop', 5432, 'tcp'],
    ['web.shop', 443, 'tls'],
  ] as const) {
    const { client, response } = await connect(host, servicePort)
    client.write('ping')
    await client.untilText('ping')
    assert.equal(response[1], `2 ${proto}`)
    client.socket.end()
    await client.untilClosed()
  }
  await eventuallyEqual(
    () => observer.connections.map(({ bytesIn, bytesOut }) => [bytesIn, bytesOut]),
    [
      [4, 4],
      [4, 4],
    ],
  )
})

test('bytes that are sent together with the request are the first of the connection', async (t) => {
  const { open } = await startIngress(t, [{ url: 'tcp://db.shop:5432', port: await startEcho(t) }])

  const client = open().write(Buffer.concat([clusterRequest('db.shop', 5432), Buffer.from('early')]))
  await client.response()

  await client.until(({ answer }) => answer === 'early')
})

test('a request that arrives byte by byte is answered', async (t) => {
  const { open } = await startIngress(t, [{ url: 'tcp://db.shop:5432', port: await startEcho(t) }])

  const client = open()
  for (const byte of clusterRequest('db.shop', 5432)) client.write(Buffer.from([byte]))

  assert.equal((await client.response())[1], '2 tcp')
})

test('a tls endpoint can terminate the TLS of clients in the cluster', async (t) => {
  const { certificatePem, privateKeyPem } = await server.issue('web.adit.localhost')
  const tlsTermination = { certPem: certificatePem, keyPem: privateKeyPem.reveal() }
  const { connect } = await startIngress(t, [
    { url: 'tls://web.shop:443', port: await startEcho(t), options: { tlsTermination } },
  ])
  const { client, response } = await connect('web.shop', 443)

  client.socket.removeAllListeners('data')
  const inner = connectTls({ socket: client.socket, servername: 'web.adit.localhost', ca: server.ca })
  t.after(() => inner.destroy())
  let received = ''
  inner.on('data', (chunk: Buffer) => {
    received += chunk
  })
  inner.write('inside')

  await eventuallyEqual(() => received, 'inside')
  assert.equal(response[1], '2 tls')
})

test('policies of endpoints know the pod that connected', async (t) => {
  const content = `\${conn.k8s.pod.metadata.namespace}/\${conn.k8s.pod.metadata.name} \${conn.k8s.pod.id} \${conn.k8s.pod.metadata.annotations['ngrok.com/team']}`
  const respond = (expressions: string[], content: string) => ({
    expressions,
    actions: [{ type: 'custom-response', config: { status_code: 200, content } }],
  })
  const rules = [respond(['has(conn.k8s.pod)'], content), respond([], 'no pod')]
  const trafficPolicy = JSON.stringify({ on_http_request: rules })
  const { connect } = await startIngress(t, [
    { url: 'http://web.shop:80', port: 1, options: { trafficPolicy } },
  ])
  const pod = { id: 'uid', name: 'cart', namespace: 'shop', annotations: { 'ngrok.com/team': 'blue' } }

  const known = await connect('web.shop', 80, pod)
  const unknown = await connect('web.shop', 80)
  for (const { client } of [known, unknown]) client.write(get('web.shop'))

  await known.client.untilText('shop/cart uid blue')
  await unknown.client.untilText('no pod')
})

test('an endpoint is reached at its own address alone', async (t) => {
  const port = await startGreeting(t)
  const ingress = await startIngress(t, [
    { url: 'http://web.shop:80', port },
    { url: 'http://theirs.shop:80', port, account: 'ac_other' },
  ])

  for (const [host, servicePort] of [
    ['web.shop', 8080],
    ['web.other', 80],
    ['theirs.shop', 80],
  ] as const)
    assert.deepEqual((await ingress.connect(host, servicePort)).response, [
      '3 ERR_ADIT_3703',
      `4 No endpoint that this Kubernetes operator selects is online at ${host}:${servicePort}.`,
    ])
  const visitor = openRawClient(t, ingress.port).write(get('web.shop'))
  await visitor.untilText('404')
})

test('an endpoint that no selector of the operator selects is not found, nor is it tried in a pool', async (t) => {
  const port = await startGreeting(t, 'green')
  const busy = () => {
    throw new TunnelBusy('busy')
  }
  const { connect, write, tunnels } = await startIngress(t, [
    { url: 'http://pool.shop:80', port, metadata: 'blue' },
    { url: 'http://pool.shop:80', port, metadata: 'green' },
    { url: 'tcp://db.shop:5432', port, metadata: 'green' },
  ])
  tunnels.tunnels[0] = { ...tunnels.tunnels[0]!, open: busy }

  const both = await connect('pool.shop', 80)
  both.client.write(get('pool.shop'))
  await both.client.untilText('green')
  await write(operatorRecord(certificate, ['blue']))
  const blue = await connect('pool.shop', 80)
  blue.client.write(get('pool.shop'))
  await blue.client.untilText('ERR_ADIT_8015')
  const green = await connect('db.shop', 5432)

  assert.equal(green.response[0], '3 ERR_ADIT_3703')
})

test('a retry in a pool passes over members that the operator does not select', async (t) => {
  const echo = await startEcho(t)
  const greeting = await startGreeting(t)
  const members = (url: string, port: number) =>
    ['green', 'blue', 'blue', 'green'].map((metadata) => ({ url, port, metadata }))
  const { connect, write, tunnels } = await startIngress(t, [
    ...members('http://pool.shop:80', greeting),
    ...members('tcp://pool.shop:5432', echo),
  ])
  const opened: string[] = []
  for (const [index, tunnel] of tunnels.tunnels.entries()) {
    const isLast = index % 4 === 2
    tunnels.tunnels[index] = {
      ...tunnel,
      open(client) {
        opened.push(`${tunnel.metadata} ${index % 4}`)
        if (isLast) return tunnel.open(client)
        throw new TunnelBusy('busy')
      },
    }
  }
  await write(operatorRecord(certificate, ['blue']))

  const request = (await connect('pool.shop', 80)).client.write(get('pool.shop'))
  await request.untilText('hello pool.shop')
  const raw = (await connect('pool.shop', 5432)).client.write('ping')
  await raw.untilText('ping')

  assert.deepEqual(opened, ['blue 1', 'blue 2', 'blue 1', 'blue 2'])
})

test('the turns of a pool pass over members that the operator does not select', async (t) => {
  const { connect, write } = await startIngress(t, [
    { url: 'http://pool.shop:80', port: await startGreeting(t, 'blue'), metadata: 'blue' },
    { url: 'http://pool.shop:80', port: await startGreeting(t, 'green'), metadata: 'green' },
  ])

  await write(operatorRecord(certificate, ['green']))
  const { client } = await connect('pool.shop', 80)
  client.write(get('pool.shop'))

  await client.untilText('green pool.shop')
})

test('only the current certificate of an operator is accepted', async (t) => {
  const { connect, write, open, removeOperator } = await startIngress(t, [
    { url: 'http://web.shop:80', port: await startGreeting(t) },
  ])
  const codeWith = async (options: ConnectionOptions) =>
    (await connect('web.shop', 80, undefined, options)).response[0]

  assert.match((await codeWith(certificate)) ?? '', /^1 ep_/)
  assert.equal(await codeWith(others.renewed), '3 ERR_ADIT_3701')
  assert.equal(await codeWith(others.foreign), '3 ERR_ADIT_3701')
  await write(operatorRecord(others.renewed))
  assert.match((await codeWith(others.renewed)) ?? '', /^1 ep_/)
  assert.equal(await codeWith(certificate), '3 ERR_ADIT_3701')
  await write(operatorRecord(others.expired))
  assert.equal(await codeWith(others.expired), '3 ERR_ADIT_3702')
  await write(withCertificate(operatorRecord(certificate), { not_after: 'never' }))
  assert.equal(await codeWith(certificate), '3 ERR_ADIT_3702')
  await write(withCertificate(operatorRecord(certificate), { cert: 'unreadable' }))
  assert.equal(await codeWith(certificate), '3 ERR_ADIT_3701')
  await write(operatorRecord(certificate, ['all'], ['ingress']))
  assert.equal(await codeWith(certificate), '3 ERR_ADIT_3701')
  await write(operatorRecord(certificate))
  await removeOperator()
  assert.equal(await codeWith(certificate), '3 ERR_ADIT_3701')
  const anonymous = open({}).write(clusterRequest('web.shop', 80))
  await anonymous.untilClosed()
  assert.equal(anonymous.text, '')
})

for (const [name, message, reason] of [
  ['a request that is too long', Buffer.from([1, 64]), 'it has more than 16384 bytes'],
  ['a message that is not protobuf', framed(Buffer.from([0x0a, 0x7f])), 'a field is longer than its message'],
  ['a request without a host', clusterRequest('', 80), 'it names no host'],
  ['a request for a name that is no host', clusterRequest('web.shop/http', 80), 'it names no host'],
  ['a request without a port', framed(encodeText(1, 'web.shop')), 'it names no port'],
  ['a request for a port that does not exist', clusterRequest('web.shop', 65_536), 'it names no port'],
  ['an HTTP request', Buffer.from(get('web.shop')), 'it has more than 16384 bytes'],
] as const)
  test(`${name} is rejected with the reason`, async (t) => {
    const { open } = await startIngress(t, [])

    const client = open(certificate).write(message)

    assert.deepEqual(await client.response(), [
      '3 ERR_ADIT_3700',
      `4 The request for a service was not understood: ${reason}.`,
    ])
    await client.untilClosed()
  })

test('a cluster that sends no complete request in time is disconnected', async (t) => {
  const { open } = await startIngress(t, [], { config: { limits: shortLimits } })

  const silent = open()
  const slow = open().write(clusterRequest('web.shop', 80).subarray(0, 4))

  await Promise.all([silent.untilClosed(), slow.untilClosed()])
  assert.deepEqual([silent.text, slow.text], ['', ''])
})

test('a policy that denies the connection, and an agent that takes none, are named in the response', async (t) => {
  const { connect, tunnels, observer } = await startIngress(t, [
    {
      url: 'tcp://denied.shop:5432',
      port: 1,
      options: { trafficPolicy: 'on_tcp_connect: [{actions: [{type: deny}]}]' },
    },
    { url: 'tcp://busy.shop:5432', port: 1 },
  ])
  tunnels.tunnels[1] = {
    ...tunnels.tunnels[1]!,
    open() {
      throw new TunnelBusy('busy')
    },
  }

  assert.equal((await connect('denied.shop', 5432)).response[0], '3 ERR_ADIT_2301')
  assert.deepEqual((await connect('busy.shop', 5432)).response, [
    '3 ERR_ADIT_3704',
    '4 The endpoint at busy.shop:5432 accepts no connections right now. Check its agent.',
  ])
  assert.deepEqual(
    observer.connections.map(({ errorCode }) => errorCode),
    ['ERR_ADIT_2301'],
  )
})

test('open connections end when the operator has no bindings any more, or no longer selects their endpoint', async (t) => {
  const http = await startHttp(t, (_request, response) => {
    response.write('begin')
  })
  const bound = [
    { url: 'tcp://db.shop:5432', port: await startEcho(t), metadata: 'blue' },
    { url: 'http://web.shop:80', port: http, metadata: 'green' },
  ]
  const { connect, write, removeOperator } = await startIngress(t, bound)
  const raw = (await connect('db.shop', 5432)).client.write('ping')
  const request = (await connect('web.shop', 80)).client.write(get('web.shop'))
  const idle = (await connect('web.shop', 80)).client
  await raw.untilText('ping')
  await request.untilText('begin')

  await write(operatorRecord(others.renewed))
  raw.write('pong')
  await raw.untilText('pong')
  await write(operatorRecord(certificate, ['green']))
  await raw.untilClosed()
  assert.equal(request.ended || request.closed, false)
  await write(operatorRecord(certificate))
  const another = (await connect('db.shop', 5432)).client.write('ping')
  await another.untilText('ping')
  await write(operatorRecord(certificate, ['all'], ['gateway']))
  await another.untilClosed()
  await request.untilClosed()
  await removeOperator()
  idle.write(get('web.shop'))
  await idle.untilText('404')
  await eventually(() => idle.text.includes('ERR_ADIT_3200'))
})

test('a forwarder is never a trusted proxy, since it passes on what its clients send', async (t) => {
  const port = await startGreeting(t)
  const { connect } = await startIngress(t, [{ url: 'http://web.shop:80', port }], {
    config: { trustedProxies: { isTrusted: () => true, field: 'x-forwarded-for' } },
  })

  const { client } = await connect('web.shop', 80)
  client.write('GET / HTTP/1.1\r\nHost: web.shop\r\nX-Forwarded-For: 192.0.2.9\r\n\r\n')

  await client.untilText('for 127.0.0.1')
})
