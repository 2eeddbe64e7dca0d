import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { eventually } from '../../../test/support/eventually.ts'
import { sendHttp } from '../../../test/support/https-client.ts'
import { listen, startHttp, startTcp } from '../../../test/support/local-server.ts'
import { openRawClient, RawClient } from '../../../test/support/raw-client.ts'
import {
  HttpsRoute,
  IpPolicy,
  IpPolicyRule,
  TcpEdge,
  TlsEdge,
  TunnelGroupBackend,
} from '../../resources/index.ts'
import type { EndpointOptions } from '../contracts/tunnels.ts'
import { createTestCertificates } from '../testing/certificates.ts'
import { TestConfiguration } from '../testing/configuration.ts'
import { startEdge } from '../testing/edge.ts'
import { startHttpsEdge } from '../testing/https-edge.ts'
import { TestObserver } from '../testing/observer.ts'
import { POLICY_HOST, startPolicyEndpoint } from '../testing/policy-endpoint.ts'
import { createLocalTunnel, TestTunnels } from '../testing/tunnels.ts'
import { acceptUpgrade, upgradeRequest } from '../testing/web-socket.ts'

test('a policy of a TCP endpoint admits and refuses connections', async (t) => {
  let connections = 0
  const upstream = await startTcp(t, (socket) => {
    connections++
    socket.end('hello')
  })
  const tunnels = new TestTunnels()
  const { edge } = await startEdge(t, tunnels)
  const bindPolicy = async (policy: object) => {
    const port = await edge.ports.acquire()
    const options = { trafficPolicy: JSON.stringify({ on_tcp_connect: [policy] }) }
    tunnels.ports.set(port, createLocalTunnel(upstream, { proto: 'tcp', options }))
    return port
  }
  const open = await bindPolicy({
    expressions: ["conn.client_ip == '10.0.0.1'"],
    actions: [{ type: 'close-connection' }],
  })
  const ports = [
    await bindPolicy({ actions: [{ type: 'deny' }] }),
    await bindPolicy({ actions: [{ type: 'close-connection' }] }),
    await bindPolicy({ actions: [{ type: 'restrict-ips', config: { allow: ['10.0.0.0/8'] } }] }),
    await bindPolicy({
      actions: [
        { type: 'set-vars', config: { vars: [{ a: '${conn.client_ip.startsWith("127.")}' }] } },
        { type: 'deny' },
      ],
    }),
  ]

  const admitted = await openRawClient(t, open).untilClosed()
  const refused: string[] = []
  for (const port of ports) refused.push((await openRawClient(t, port).untilClosed()).text)

  assert.deepEqual([admitted.text, refused, connections], ['hello', ['', '', '', ''], 1])
})

test('a policy acts on WebSocket upgrades: headers, refusals and replaced responses', async (t) => {
  let requestedHeader: string | undefined
  const server = createServer()
  server.on('upgrade', (request, socket) => {
    requestedHeader = request.headers['x-added'] as string
    socket.write(`${acceptUpgrade()}bytes`)
  })
  const upstream = await listen(t, server)
  const trafficPolicy = JSON.stringify({
    on_http_request: [
      { expressions: ["req.url.path == '/denied'"], actions: [{ type: 'deny' }] },
      { actions: [{ type: 'add-headers', config: { headers: { 'x-added': 'yes' } } }] },
    ],
    on_http_response: [
      {
        expressions: ["req.url.path == '/replaced'", 'res.status_code == 101'],
        actions: [{ type: 'custom-response', config: { status_code: 410, body: 'not here' } }],
      },
      { actions: [{ type: 'add-headers', config: { headers: { 'x-res': '${res.status_code}' } } }] },
    ],
  })
  const tunnel = createLocalTunnel(upstream, { options: { trafficPolicy } })
  const { port } = await startEdge(t, new TestTunnels().add(POLICY_HOST, tunnel))

  const denied = openRawClient(t, port).write(upgradeRequest(POLICY_HOST, '/denied'))
  const replaced = openRawClient(t, port).write(upgradeRequest(POLICY_HOST, '/replaced'))
  const accepted = openRawClient(t, port).write(upgradeRequest(POLICY_HOST, '/ws'))
  await Promise.all([denied.untilText('403'), replaced.untilText('not here'), accepted.untilText('bytes')])

  assert.match(denied.text, /^HTTP\/1\.1 403 /)
  assert.match(replaced.text, /^HTTP\/1\.1 410 Gone\r\n/)
  assert.doesNotMatch(replaced.text, /bytes|x-res/)
  assert.match(accepted.text, /^HTTP\/1\.1 101 [\s\S]*x-res: 101\r\n/)
  assert.equal(requestedHeader, 'yes')
})

test('a replaced response does not wait for a body that never ends', async (t) => {
  let upstreamClosed: Promise<unknown> | undefined
  const { ask } = await startPolicyEndpoint(
    t,
    'on_http_response: [{actions: [{type: custom-response, config: {body: short}}]}]',
    {
      listener: (_request, response) => {
        upstreamClosed = once(response, 'close')
        response.write('the first of many')
      },
    },
  )

  const response = await ask()
  await upstreamClosed

  assert.equal(response.text, 'short')
})

test('a policy that is replaced while the tunnel is online applies to the next request', async (t) => {
  const upstream = await startHttp(t, (_request, response) => response.end('upstream'))
  const tunnel = createLocalTunnel(upstream) as { options: EndpointOptions } & ReturnType<
    typeof createLocalTunnel
  >
  const { port } = await startEdge(t, new TestTunnels().add(POLICY_HOST, tunnel))
  const ask = async () => (await sendHttp(port, { host: POLICY_HOST })).status

  const before = await ask()
  tunnel.options = { proxyProto: 0, trafficPolicy: 'on_http_request: [{actions: [{type: deny}]}]' }
  const denied = await ask()
  tunnel.options = { proxyProto: 0 }
  const after = await ask()

  assert.deepEqual([before, denied, after], [200, 403, 200])
})

test('an expression that fails before an action that rejects nothing does not match, and a text that fails denies', async (t) => {
  const { ask } = await startPolicyEndpoint(
    t,
    JSON.stringify({
      on_http_request: [
        {
          expressions: ["req.headers['none'][0] == 'x'"],
          actions: [{ type: 'custom-response', config: { status_code: 302 } }],
        },
        {
          expressions: ["req.url.path == '/text'"],
          actions: [{ type: 'add-headers', config: { headers: { a: "${req.headers['none'][0]}" } } }],
        },
        {
          expressions: ["req.url.path == '/header'"],
          actions: [{ type: 'add-headers', config: { headers: { a: "${'x\\r\\ny: z'}" } } }],
        },
        {
          expressions: [
            "req.url.path == '/costly' && lists.range(300).all(a, lists.range(300).all(b, a + b >= 0))",
          ],
          actions: [{ type: 'log', config: { metadata: { a: 'b' } } }],
        },
      ],
      on_http_response: [
        {
          expressions: ["req.url.path == '/response'"],
          actions: [{ type: 'add-headers', config: { headers: { a: "${res.headers['location'][0]}" } } }],
        },
      ],
    }),
  )

  const responses = await Promise.all(
    ['/', '/text', '/header', '/costly', '/response'].map((path) => ask({ path })),
  )

  assert.deepEqual(
    responses.map(({ status, headers }) => [status, headers['adit-error-code']]),
    [[200, undefined], ...Array(4).fill([500, 'ERR_ADIT_2300'])],
  )
})

test('a policy that refers to a missing IP policy denies all traffic', async (t) => {
  const { ask } = await startPolicyEndpoint(
    t,
    'on_http_request: [{actions: [{type: restrict-ips, config: {ip_policies: [ipp_none]}}]}]',
  )

  const { status, headers } = await ask()

  assert.deepEqual([status, headers['adit-error-code']], [503, 'ERR_ADIT_3212'])
})

test('redirects of an upstream with another host lead back to the endpoint', async (t) => {
  const { ask } = await startPolicyEndpoint(
    t,
    'on_http_request: [{actions: [{type: add-headers, config: {headers: {host: inside.test}}}]}]',
    {
      listener: (request, response) => {
        response.writeHead(302, { location: `http://${request.headers.host}/next?a=1` })
        response.end()
      },
    },
  )

  const { headers } = await ask()

  assert.equal(headers.location, `https://${POLICY_HOST}/next?a=1`)
})

const denyAll = 'on_http_request: [{actions: [{type: deny, config: {status_code: 404}}]}]'

test('the policy of a route acts on its requests, after its modules', async (t) => {
  const { config, routeId, sendRequest } = await startHttpsEdge(t)
  const change = async (changes: object) => {
    config.update(routeId, changes as Record<string, unknown>)
    await config.waitUntilApplied()
  }
  const value = JSON.stringify({
    on_http_request: [
      {
        expressions: ["req.headers['x-module'] == ['yes']", "endpoint.host == 'shop.adit.localhost'"],
        actions: [{ type: 'add-headers', config: { headers: { 'x-policy': '${endpoint.protocol}' } } }],
      },
    ],
    on_http_response: [{ actions: [{ type: 'add-headers', config: { headers: { 'x-seen': '1' } } }] }],
  })

  await change({ request_headers: { add: { 'x-module': 'yes' } }, traffic_policy: { value } })
  const edited = await sendRequest()
  await change({ traffic_policy: { enabled: false, value: denyAll } })
  const off = await sendRequest()
  await change({ traffic_policy: { value: denyAll } })
  const denied = await sendRequest()
  await change({ traffic_policy: null })
  const removed = await sendRequest()

  assert.equal(JSON.parse(edited.text).headers['x-policy'], 'https')
  assert.equal(edited.headers['x-seen'], '1')
  assert.deepEqual([off.status, denied.status, removed.status], [200, 404, 200])
})

test('the policy of a route that cannot be read any more denies all traffic', async (t) => {
  const { config, routeId, sendRequest } = await startHttpsEdge(t)
  config.write(HttpsRoute, routeId, {
    ...config.record(routeId),
    traffic_policy: { enabled: true, value: 'on_http_request: [{actions: [{type: gone}]}]' },
  })
  await config.waitUntilApplied()

  const { status, headers } = await sendRequest()

  assert.deepEqual([status, headers['adit-error-code']], [503, 'ERR_ADIT_3212'])
})

test('the IP policies that the policy of a route names are those of its account', async (t) => {
  const { config, edge, routeId, sendRequest } = await startHttpsEdge(t)
  const other = new TestConfiguration(edge, 'ac_other')
  const ids = [config, other].map((owner) => {
    const id = owner.create(IpPolicy, {})
    owner.create(IpPolicyRule, { ip_policy_id: id, cidr: '127.0.0.0/8', action: 'allow' })
    return id
  })
  const statuses: number[] = []
  for (const id of ids) {
    const value = `on_http_request: [{actions: [{type: restrict-ips, config: {ip_policies: [${id}]}}]}]`
    config.update(routeId, { traffic_policy: { value } })
    await config.waitUntilApplied()
    statuses.push((await sendRequest()).status)
  }
  config.update(routeId, {
    traffic_policy: {
      value: `on_http_request: [{actions: [{type: restrict-ips, config: {ip_policies: [${ids[0]}]}}]}]`,
    },
  })
  config.create(IpPolicyRule, { ip_policy_id: ids[0]!, cidr: '127.0.0.1/32', action: 'deny' })
  await config.waitUntilApplied()
  statuses.push((await sendRequest()).status)

  assert.deepEqual(statuses, [200, 503, 403])
})

test('the policies of TCP and TLS edges admit and refuse connections', async (t) => {
  const { config, tunnels, edge, tlsPort } = await startHttpsEdge(t)
  const upstream = await startTcp(t, (socket) => socket.end('hello'))
  tunnels.tunnels.push(createLocalTunnel(upstream, { labels: { raw: 'yes' } }))
  const backend = { backend_id: config.create(TunnelGroupBackend, { labels: { raw: 'yes' } }) }
  const port = await edge.ports.acquire()
  edge.ports.release(port)
  const ids = [
    config.create(TcpEdge, { hostports: [`1.tcp.adit.localhost:${port}`], backend }),
    config.create(TlsEdge, {
      hostports: ['raw.adit.localhost:443'],
      backend,
      tls_termination: { terminate_at: 'edge' },
    }),
  ]
  const connectAll = async (expression: string) => {
    const value = JSON.stringify({
      on_tcp_connect: [{ expressions: [expression], actions: [{ type: 'close-connection' }] }],
    })
    for (const id of ids) config.update(id, { traffic_policy: { value } })
    await config.waitUntilApplied()
    const tls = connectTls({ port: tlsPort, servername: 'raw.adit.localhost', rejectUnauthorized: false })
    t.after(() => tls.destroy())
    const clients = [openRawClient(t, port), new RawClient(tls)]
    return Promise.all(clients.map(async (client) => (await client.untilClosed()).text))
  }

  const admitted = await connectAll("endpoint.protocol == 'https'")
  const refused = await connectAll("endpoint.protocol in ['tcp', 'tls'] && conn.client_ip == '127.0.0.1'")

  assert.deepEqual(
    [admitted, refused],
    [
      ['hello', 'hello'],
      ['', ''],
    ],
  )
})

const RATE_LIMIT = {
  type: 'rate-limit',
  config: { name: 'few', algorithm: 'sliding_window', capacity: 2, rate: '24h', bucket_key: ['req.host'] },
}

test('a rate limit and a breaker keep their state when the rest of the policy changes and the agent reconnects', async (t) => {
  const upstream = await startHttp(t, (_request, response) => {
    response.statusCode = 500
    response.end()
  })
  const breaker = { type: 'circuit-breaker', config: { error_threshold: 0.5, volume_threshold: 2 } }
  const policyOf = (action: object, header: string) =>
    JSON.stringify({
      on_http_request: [
        { actions: [{ type: 'add-headers', config: { headers: { 'x-a': header } } }] },
        { actions: [action] },
      ],
    })
  const bind = (action: object, header: string) =>
    createLocalTunnel(upstream, {
      proto: 'http',
      hostport: `${POLICY_HOST}:80`,
      options: { trafficPolicy: policyOf(action, header) },
    }) as ReturnType<typeof createLocalTunnel> & { options: EndpointOptions }
  const tunnels = new TestTunnels()
  const { port } = await startEdge(t, tunnels)
  const ask = async () => (await sendHttp(port, { host: POLICY_HOST })).status

  for (const [action, refusal] of [
    [RATE_LIMIT, 429],
    [breaker, 503],
  ] as const) {
    const first = bind(action, 'one')
    tunnels.add(POLICY_HOST, first)
    const before = [await ask(), await ask()]
    first.options = { proxyProto: 0, trafficPolicy: policyOf(action, 'two') }
    const patched = await ask()
    tunnels.add(POLICY_HOST, bind(action, 'three'))
    const reconnected = await ask()
    const another = { ...action, config: { ...action.config, enforce: true } }
    tunnels.add(POLICY_HOST, bind(another, 'three'))
    const changed = await ask()

    assert.deepEqual([before, patched, reconnected, changed], [[500, 500], refusal, refusal, 500])
  }
})

test('what a policy logs is part of the events of requests and connections', async (t) => {
  const observe = new TestObserver('ac_test')
  const log = (text: string) => ({ actions: [{ type: 'log', config: { metadata: { step: text } } }] })
  const { ask } = await startPolicyEndpoint(
    t,
    JSON.stringify({
      on_tcp_connect: [log('connect ${conn.client_ip}')],
      on_http_request: [log('request ${req.method}'), log('again')],
      on_http_response: [log('response ${res.status_code}')],
    }),
    { dependencies: { observe } },
  )

  await ask()
  await eventually(() => observe.requests.length === 1)

  assert.deepEqual(
    observe.requests[0]!.logs?.map(({ step }) => step),
    ['connect 127.0.0.1', 'request GET', 'again', 'response 200'],
  )
})

test('what the policy of a TCP endpoint logs is part of the event of the connection', async (t) => {
  const observe = new TestObserver('ac_test')
  const upstream = await startTcp(t, (socket) => socket.resume().end('hello'))
  const tunnels = new TestTunnels()
  const { edge } = await startEdge(t, tunnels, {}, { observe })
  const port = await edge.ports.acquire()
  const trafficPolicy = 'on_tcp_connect: [{actions: [{type: log, config: {metadata: {a: b}}}]}]'
  tunnels.ports.set(port, createLocalTunnel(upstream, { proto: 'tcp', options: { trafficPolicy } }))

  const client = await openRawClient(t, port).untilClosed()
  client.socket.end()
  await eventually(() => observe.connections.length === 1)

  assert.deepEqual(observe.connections[0]!.logs, [{ a: 'b' }])
})

test('conn.bytes_in and conn.bytes_out count what a connection has carried, without what TLS adds', async (t) => {
  const trafficPolicy =
    'on_http_request: [{actions: [{type: custom-response, config: {body: "in ${conn.bytes_in} out ${conn.bytes_out};"}}]}]'
  const tunnels = new TestTunnels()
  for (const proto of ['http', 'https'] as const)
    tunnels.add(POLICY_HOST, createLocalTunnel(1, { proto, options: { trafficPolicy } }))
  const { lookup } = await createTestCertificates('adit.localhost')
  const { port, tlsPort } = await startEdge(t, tunnels, {}, { certificates: lookup })
  const tls = connectTls({ port: tlsPort, servername: POLICY_HOST, rejectUnauthorized: false })
  t.after(() => tls.destroy())
  const request = `GET / HTTP/1.1\r\nHost: ${POLICY_HOST}\r\n\r\n`

  for (const client of [openRawClient(t, port), new RawClient(tls)]) {
    await client.write(request).untilText(`in ${request.length} out 0;`)
    const sent = client.text.length
    await client.write(request).untilText(`in ${2 * request.length} out ${sent};`)
  }
})
