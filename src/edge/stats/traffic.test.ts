import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { startHttp, startTcp } from '../../../test/support/local-server.ts'
import { openRawClient } from '../../../test/support/raw-client.ts'
import { HttpsRoute } from '../../resources/index.ts'
import { startEdge } from '../testing/edge.ts'
import { startHttpsEdge } from '../testing/https-edge.ts'
import { createLocalTunnel, TestTunnels } from '../testing/tunnels.ts'

const HOST = 'app.adit.localhost'

test('requests, their statuses and the bytes of their bodies add up per account', async (t) => {
  const upstream = await startHttp(t, (request, response) => {
    request.resume()
    request.on('end', () => response.writeHead(Number(request.url?.slice(1))).end('twelve bytes'))
  })
  const foreign = createLocalTunnel(upstream, { accountId: 'ac_other' })
  const tunnels = new TestTunnels().add(HOST, createLocalTunnel(upstream)).add('other.example', foreign)
  const { edge, port } = await startEdge(t, tunnels)
  const ask = (status: number, host = HOST) =>
    openRawClient(t, port)
      .write(`POST /${status} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 5\r\n\r\nhello`)
      .untilText('twelve bytes')

  await Promise.all([ask(200), ask(201), ask(404), ask(503)])
  await ask(200, 'other.example')

  assert.deepEqual(edge.traffic.totals('ac_test'), {
    requests: 4,
    connections: 0,
    bytes_in: 20,
    bytes_out: 48,
    statuses: [0, 2, 0, 1, 1],
    open_requests: 0,
    open_connections: 0,
  })
  assert.equal(edge.traffic.totals('ac_other').requests, 1)
  assert.equal(edge.traffic.totals('ac_unknown').requests, 0)
})

test('a request is open until it is answered or the client disconnects', async (t) => {
  const waiting: (() => void)[] = []
  const upstream = await startHttp(t, (_request, response) => {
    waiting.push(() => response.end('done'))
  })
  const { edge, port } = await startEdge(t, new TestTunnels().add(HOST, createLocalTunnel(upstream)))
  const open = () => edge.traffic.totals('ac_test').open_requests
  const clients = [1, 2].map(() => openRawClient(t, port).write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`))

  await eventually(() => waiting.length === 2, 'both requests have arrived')
  const during = open()
  clients[0]!.socket.destroy()
  await eventually(() => open() === 1, 'one client has disconnected')
  for (const respond of waiting) respond()
  await clients[1]!.untilText('done')

  assert.equal(during, 2)
  assert.equal(open(), 0)
})

test('the bytes of a TCP connection are counted while it is open and after it has closed', async (t) => {
  const upstream = await startTcp(t, (socket) => socket.pipe(socket))
  const { edge, tunnels } = await startEdge(t)
  const port = await edge.ports.acquire()
  tunnels.ports.set(port, createLocalTunnel(upstream, { proto: 'tcp' }))
  const totals = () => edge.traffic.totals('ac_test')

  const client = await openRawClient(t, port).write('seven b').untilText('seven b')
  const during = totals()
  client.socket.end()
  await eventually(() => totals().open_connections === 0, 'the connection has closed')

  assert.deepEqual(
    [during.connections, during.open_connections, during.bytes_in, during.bytes_out],
    [1, 1, 7, 7],
  )
  assert.deepEqual([totals().connections, totals().bytes_in, totals().bytes_out], [1, 7, 7])
})

test('an account sees the counters and broken scopes of its own edges, and no others', async (t) => {
  const { edge, config, sendRequest, edgeId, routeId } = await startHttpsEdge(t)
  const broken = config.create(HttpsRoute, {
    edge_id: edgeId,
    match_type: 'path_prefix',
    match: '/b',
    ip_restriction: { ip_policy_ids: ['ipp_000000000000000000000000000'] },
  })
  await config.waitUntilApplied()

  await sendRequest()
  const counts = edge.scopes.countsOf('ac_test', edgeId)

  assert.deepEqual(
    counts.map(({ scopeId, counters }) => [scopeId, counters.requests]).sort(),
    [
      [routeId, 1],
      [broken, 0],
    ].sort(),
  )
  assert.deepEqual(
    edge.scopes.brokenIn('ac_test', edgeId).map(({ scopeId }) => scopeId),
    [broken],
  )
  assert.deepEqual(edge.scopes.countsOf('ac_other', edgeId), [])
  assert.deepEqual(edge.scopes.brokenIn('ac_other', edgeId), [])
})

test('a connection is counted once by the country of its client, and behind a proxy each request', async (t) => {
  const upstream = await startHttp(t, (request, response) => response.end(`hello ${request.url}.`))
  const tunnels = new TestTunnels().add(HOST, createLocalTunnel(upstream))
  const codes: Record<string, string> = { '127.0.0.1': 'NL', '203.0.113.1': 'JP' }
  const lookUp = (address: string) => ({
    location: { country_code: codes[address] },
    registeredLocation: undefined,
    as: undefined,
    categories: undefined,
    isTorNode: undefined,
  })
  const { edge, port } = await startEdge(t, tunnels, {}, { ipData: { lookUp } })
  const behindProxy = await startEdge(
    t,
    tunnels,
    { trustedProxies: { isTrusted: (ip) => ip === '127.0.0.1', field: 'x-forwarded-for' } },
    { ipData: { lookUp } },
  )
  const client = openRawClient(t, port)
  const request = (path: string, from: string) =>
    `GET ${path} HTTP/1.1\r\nHost: ${HOST}\r\nX-Forwarded-For: ${from}\r\n\r\n`

  await client.write(request('/1', '203.0.113.1')).untilText('hello /1.')
  await client.write(request('/2', '203.0.113.1')).untilText('hello /2.')
  const proxied = openRawClient(t, behindProxy.port)
  await proxied.write(request('/3', '203.0.113.1')).untilText('hello /3.')
  await proxied.write(request('/4', '203.0.113.1')).untilText('hello /4.')
  await proxied.write(request('/5', '198.51.100.1')).untilText('hello /5.')

  assert.deepEqual(edge.traffic.countries('ac_test'), [{ country: 'NL', connections: 1 }])
  assert.deepEqual(behindProxy.edge.traffic.countries('ac_test'), [
    { country: 'JP', connections: 2 },
    { country: null, connections: 1 },
  ])
  assert.deepEqual(edge.traffic.countries('ac_unknown'), [])
})
