import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { eventually } from '../../../test/support/eventually.ts'
import { findFreePorts } from '../../../test/support/free-ports.ts'
import { sendHttps } from '../../../test/support/https-client.ts'
import { startHttp, startTcp } from '../../../test/support/local-server.ts'
import { openRawClient } from '../../../test/support/raw-client.ts'
import { createDial } from '../../base/outbound/guarded-dial.ts'
import {
  BACKEND_PREFIXES,
  FailoverBackend,
  HttpResponseBackend,
  HttpsRoute,
  StaticBackend,
  TcpEdge,
  TunnelGroupBackend,
  WeightedBackend,
} from '../../resources/index.ts'
import type { EdgeTable } from '../compile/edge-table.ts'
import type { HttpHost } from '../contracts/table.ts'
import { createTestCertificates } from '../testing/certificates.ts'
import { HOST, type HttpsEdgeHarness, startHttpsEdge } from '../testing/https-edge.ts'
import { createLocalTunnel } from '../testing/tunnels.ts'

const dependencies = { dial: createDial({ allow: ['127.0.0.0/8'] }) }
const startHarness = (t: TestContext) =>
  startHttpsEdge(t, (_request, response) => response.end('shop'), { dependencies })

type Kind = (typeof BACKEND_PREFIXES)[number]

/** A backend that responds `one`, and how to make it respond `two`. */
interface Case {
  create(harness: HttpsEdgeHarness, t: TestContext): Promise<string> | string
  change(harness: HttpsEdgeHarness, id: string, t: TestContext): Promise<void> | void
}

const startResponder = (text: string) => (t: TestContext) =>
  startHttp(t, (_request, response) => response.end(text))
const fixedResponse = ({ config }: HttpsEdgeHarness, body: string) =>
  config.create(HttpResponseBackend, { body })

const cases: Record<Kind, Case> = {
  bkdhr: {
    create: (harness) => fixedResponse(harness, 'one'),
    change: ({ config }, id) => config.update(id, { body: 'two', status_code: 200 }),
  },
  bkdtg: {
    async create({ config, tunnels }, t) {
      tunnels.tunnels.push(
        createLocalTunnel(await startResponder('one')(t), { labels: { app: 'x', v: '1' } }),
      )
      tunnels.tunnels.push(
        createLocalTunnel(await startResponder('two')(t), { labels: { app: 'x', v: '2' } }),
      )
      return config.create(TunnelGroupBackend, { labels: { v: '1' } })
    },
    change: ({ config }, id) => config.update(id, { labels: { app: 'x', v: '2' } }),
  },
  bkdwd: {
    create: (harness) =>
      harness.config.create(WeightedBackend, { backends: { [fixedResponse(harness, 'one')]: 5 } }),
    change: (harness, id) => harness.config.update(id, { backends: { [fixedResponse(harness, 'two')]: 5 } }),
  },
  bkdfo: {
    create: (harness) =>
      harness.config.create(FailoverBackend, { backends: [fixedResponse(harness, 'one')] }),
    change: (harness, id) =>
      harness.config.update(id, { backends: [fixedResponse(harness, 'two'), fixedResponse(harness, 'one')] }),
  },
  bkdsc: {
    create: async ({ config }, t) =>
      config.create(StaticBackend, { address: `127.0.0.1:${await startResponder('one')(t)}` }),
    change: async ({ config }, id, t) =>
      config.update(id, { address: `localhost:${await startResponder('two')(t)}` }),
  },
}

for (const prefix of BACKEND_PREFIXES) {
  test(`a backend of kind ${prefix} responds, applies changes at once, and yields 6528 once it is gone`, async (t) => {
    const harness = await startHarness(t)
    const { config, routeId, sendRequest } = harness
    const id = await cases[prefix].create(harness, t)

    config.update(routeId, { backend: { backend_id: id } })
    await config.waitUntilApplied()
    const first = await sendRequest()
    await cases[prefix].change(harness, id, t)
    await config.waitUntilApplied()
    const changed = await sendRequest()
    config.update(routeId, { backend: { backend_id: id, enabled: false } })
    await config.waitUntilApplied()
    const off = await sendRequest()
    config.update(routeId, { backend: { backend_id: id } })
    config.remove(id)
    await config.waitUntilApplied()
    const removed = await sendRequest()

    assert.deepEqual([first.text, changed.text], ['one', 'two'])
    for (const { status, headers } of [off, removed]) {
      assert.deepEqual([status, headers['adit-error-code']], [503, 'ERR_ADIT_6528'])
    }
  })
}

test('a fixed response has its status and headers, and no body where none is allowed', async (t) => {
  const { config, routeId, sendRequest } = await startHarness(t)
  const id = config.create(HttpResponseBackend, {
    status_code: 418,
    body: 'grüße',
    headers: {
      'X-Tea': 'pot',
      'content-type': 'text/plain; charset=utf-8',
      'content-length': '3',
      connection: 'x',
    },
  })
  config.update(routeId, { backend: { backend_id: id } })
  await config.waitUntilApplied()

  const full = await sendRequest({ method: 'POST', body: 'ignored' })
  const head = await sendRequest({ method: 'HEAD' })
  config.update(id, { status_code: 204 })
  await config.waitUntilApplied()
  const empty = await sendRequest()

  assert.deepEqual([full.status, full.text, full.headers['x-tea']], [418, 'grüße', 'pot'])
  assert.deepEqual([head.status, head.text, head.headers['content-length']], [418, '', '7'])
  assert.deepEqual([empty.status, empty.text, empty.headers['content-length']], [204, '', undefined])
})

test('a tunnel group balances requests round robin over the tunnels online', async (t) => {
  const { config, routeId, tunnels, sendRequest } = await startHarness(t)
  for (const name of ['a', 'b', 'c']) {
    tunnels.tunnels.push(createLocalTunnel(await startResponder(name)(t), { labels: { pool: 'x', name } }))
  }
  // The same labels in another account.
  tunnels.tunnels.push(createLocalTunnel(1, { labels: { pool: 'x' }, accountId: 'ac_other' }))
  const id = config.create(TunnelGroupBackend, { labels: { pool: 'x' } })
  config.update(routeId, { backend: { backend_id: id } })
  await config.waitUntilApplied()

  const first: string[] = []
  for (let n = 0; n < 9; n++) first.push((await sendRequest()).text)
  tunnels.tunnels.splice(1, 1)
  const second: string[] = []
  for (let n = 0; n < 4; n++) second.push((await sendRequest()).text)

  assert.deepEqual(first.toSorted().join(''), 'aaabbbccc')
  assert.deepEqual(second.toSorted().join(''), 'bbcc')
})

test('weights hold within two percent over 10,000 requests, and weight 0 gets nothing', async (t) => {
  const { edge, config, routeId, tunnels, sendRequest } = await startHarness(t)
  const counts = new Map<string, number>()
  const counting = (name: string) => (_request: unknown, response: { end(text: string): void }) => {
    counts.set(name, (counts.get(name) ?? 0) + 1)
    response.end(name)
  }
  const backends: Record<string, number> = {}
  for (const [name, weight] of Object.entries({ a: 10_000, b: 2_500, c: 100, none: 0 })) {
    tunnels.tunnels.push(createLocalTunnel(await startHttp(t, counting(name)), { labels: { name } }))
    backends[config.create(TunnelGroupBackend, { labels: { name } })] = weight
  }
  config.update(routeId, { backend: { backend_id: config.create(WeightedBackend, { backends }) } })
  await config.waitUntilApplied()

  // Picks straight from the compiled backend: the network would only add time.
  const { routeFor } = compiledHost(edge)
  const picks = new Map<string, number>()
  for (let n = 0; n < 10_000; n++) {
    const target = routeFor('/').backend({} as never, []) as { name: string }
    picks.set(target.name, (picks.get(target.name) ?? 0) + 1)
  }
  for (let n = 0; n < 50; n++) await sendRequest()

  const [a = 0, b = 0, c = 0] = [...picks.values()]
  assert.equal(picks.size, 3)
  assert.ok(Math.abs(a / 10_000 - 10_000 / 12_600) < 0.02)
  assert.ok(Math.abs(b / 10_000 - 2_500 / 12_600) < 0.02)
  assert.ok(Math.abs(c / 10_000 - 100 / 12_600) < 0.02)
  assert.ok(c > 0)
  assert.equal(counts.get('none'), undefined)
  assert.ok(Math.abs((counts.get('a') ?? 0) - 40) <= 1)
})

/** The compiled host of the test's edge. */
const compiledHost = ({ follower }: HttpsEdgeHarness['edge']) =>
  (follower as EdgeTable).named('shop.adit.localhost')!.host as HttpHost

test('an offline child is skipped and gets its share again once it is back', async (t) => {
  const { config, routeId, tunnels, sendRequest } = await startHarness(t)
  const offlineGroup = config.create(TunnelGroupBackend, { labels: { name: 'late' } })
  const fixed = config.create(HttpResponseBackend, { body: 'fixed' })
  const weighted = config.create(WeightedBackend, { backends: { [offlineGroup]: 9, [fixed]: 1 } })
  config.update(routeId, { backend: { backend_id: weighted } })
  await config.waitUntilApplied()

  const before: string[] = []
  for (let n = 0; n < 10; n++) before.push((await sendRequest()).text)
  tunnels.tunnels.push(createLocalTunnel(await startResponder('late')(t), { labels: { name: 'late' } }))
  const after: string[] = []
  for (let n = 0; n < 10; n++) after.push((await sendRequest()).text)

  assert.deepEqual(new Set(before), new Set(['fixed']))
  assert.equal(after.filter((text) => text === 'late').length, 9)
})

test('failover uses the next child while the first is offline or unreachable, and returns to it afterwards', async (t) => {
  const { config, routeId, tunnels, sendRequest } = await startHarness(t)
  const closed = await findFreePorts(1)
  const emptyGroup = config.create(TunnelGroupBackend, { labels: { name: 'first' } })
  const refusing = config.create(StaticBackend, { address: `127.0.0.1:${closed}` })
  const last = config.create(HttpResponseBackend, { body: 'last' })
  const failover = config.create(FailoverBackend, { backends: [emptyGroup, refusing, last] })
  config.update(routeId, { backend: { backend_id: failover } })
  await config.waitUntilApplied()

  const texts = [
    (await sendRequest()).text,
    (await sendRequest({ method: 'POST', body: 'never sent before' })).text,
  ]
  const server = createHttpServer((_request, response) => response.end('second')).listen(closed, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  texts.push((await sendRequest()).text)
  tunnels.tunnels.push(createLocalTunnel(await startResponder('first')(t), { labels: { name: 'first' } }))
  texts.push((await sendRequest()).text)
  tunnels.tunnels.pop()
  texts.push((await sendRequest()).text)

  assert.deepEqual(texts, ['last', 'last', 'second', 'first', 'second'])
})

test('a body that has started is sent in full to the next target when a dial fails', async (t) => {
  const { config, routeId, sendRequest } = await startHttpsEdge(t, undefined, { dependencies })
  const refusing = [await findFreePorts(1), await findFreePorts(1)].map((port) =>
    config.create(StaticBackend, { address: `127.0.0.1:${port}` }),
  )
  const shop = config.record(routeId).backend as { backend_id: string }
  const failover = config.create(FailoverBackend, { backends: [...refusing, shop.backend_id] })
  config.update(routeId, { backend: { backend_id: failover } })
  await config.waitUntilApplied()
  const body = Array.from({ length: 50_000 }, (_, n) => `${n}`).join()

  const sized = await sendRequest({ method: 'POST', body })
  const chunked = await sendRequest({ method: 'POST', body, headers: { 'transfer-encoding': 'chunked' } })

  assert.equal(JSON.parse(sized.text).body, body)
  assert.equal(JSON.parse(chunked.text).body, body)
})

test('an error response is a response and does not fail over', async (t) => {
  const { config, routeId, tunnels, sendRequest } = await startHarness(t)
  const upstream = await startHttp(t, (_request, response) => response.writeHead(500).end('broken'))
  tunnels.tunnels.push(createLocalTunnel(upstream, { labels: { name: 'broken' } }))
  const broken = config.create(TunnelGroupBackend, { labels: { name: 'broken' } })
  const spare = config.create(HttpResponseBackend, { body: 'spare' })
  const failover = config.create(FailoverBackend, { backends: [broken, spare] })
  config.update(routeId, { backend: { backend_id: failover } })
  await config.waitUntilApplied()

  const { status, text } = await sendRequest()

  assert.deepEqual([status, text], [500, 'broken'])
})

test('a request that may have been received is retried at most once, and only when it is idempotent', async (t) => {
  const { config, routeId, tunnels, sendRequest } = await startHarness(t)
  const receivedIds: string[] = []
  for (const name of ['a', 'b', 'c']) {
    const upstream = await startTcp(t, (socket) =>
      socket.on('data', (chunk: Buffer) => {
        receivedIds.push(/x-id: (\S+)/i.exec(chunk.toString('latin1'))?.[1] ?? 'body')
        socket.resetAndDestroy()
      }),
    )
    tunnels.tunnels.push(createLocalTunnel(upstream, { labels: { name } }))
  }
  const groups = ['a', 'b', 'c'].map((name) => config.create(TunnelGroupBackend, { labels: { name } }))
  const failover = config.create(FailoverBackend, { backends: groups })
  config.update(routeId, { backend: { backend_id: failover } })
  await config.waitUntilApplied()

  const get = await sendRequest({ headers: { 'x-id': 'get' } })
  const post = await sendRequest({ method: 'POST', headers: { 'x-id': 'post' } })
  const put = await sendRequest({ method: 'PUT', body: 'with a body', headers: { 'x-id': 'put' } })

  assert.deepEqual([get.status, post.status, put.status], [502, 502, 502])
  const countOf = (id: string) => receivedIds.filter((receivedId) => receivedId === id).length
  assert.deepEqual([countOf('get'), countOf('post'), countOf('put')], [2, 1, 1])
})

test('TLS to a static address requires a trusted certificate', async (t) => {
  const certificates = await createTestCertificates('localhost')
  const { certificatePem, privateKeyPem } = await certificates.issue('localhost')
  const server = createHttpsServer(
    { cert: certificatePem, key: privateKeyPem.reveal() },
    (request, response) => response.end(`secure ${request.headers['x-forwarded-proto']}`),
  ).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const { config, routeId, sendRequest } = await startHarness(t)
  const id = config.create(StaticBackend, {
    address: `localhost:${(server.address() as AddressInfo).port}`,
    tls: { enabled: true },
  })
  config.update(routeId, { backend: { backend_id: id } })
  await config.waitUntilApplied()

  const { status, headers } = await sendRequest()

  // The system does not trust the test's authority, so the connection must fail.
  assert.deepEqual([status, headers['adit-error-code']], [502, 'ERR_ADIT_8012'])
})

test('a client that disconnects while a static address is being dialled with TLS closes that connection only', async (t) => {
  const accepted: Socket[] = []
  const port = await startTcp(t, (socket) => accepted.push(socket))
  const { config, routeId, tlsPort, ca, edgeId } = await startHarness(t)
  const id = config.create(StaticBackend, { address: `127.0.0.1:${port}`, tls: { enabled: true } })
  const open = config.create(HttpResponseBackend, { body: 'open' })
  config.update(routeId, { backend: { backend_id: id } })
  const match = { match_type: 'exact_path', match: '/open' }
  config.create(HttpsRoute, { edge_id: edgeId, ...match, backend: { backend_id: open } })
  await config.waitUntilApplied()
  const client = connectTls({ port: tlsPort, host: '127.0.0.1', servername: HOST, ca })
  client.on('error', () => {})
  client.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  await eventually(() => accepted.length === 1, 'the address is connected to')
  let closed = false
  accepted[0]!.resume().on('end', () => {
    closed = true
  })

  client.destroy()

  await eventually(() => closed, 'the connection to the address is closed')
  assert.equal((await sendHttps(tlsPort, ca, { host: HOST, path: '/open' })).text, 'open')
})

test('a static address inside the network is not dialled unless the operator allows it', async (t) => {
  let connections = 0
  const upstream = await startTcp(t, () => connections++)
  const harness = await startHttpsEdge(t)
  const { config, routeId, sendRequest } = harness
  for (const address of [`127.0.0.1:${upstream}`, `localhost:${upstream}`, `[::1]:${upstream}`]) {
    const id = config.create(StaticBackend, { address })
    config.update(routeId, { backend: { backend_id: id } })
    await config.waitUntilApplied()
    assert.equal((await sendRequest()).status, 502, address)
  }

  assert.equal(connections, 0)
})

test('TCP connections are balanced one by one and move to the next target when a dial fails', async (t) => {
  const { config, tunnels } = await startHarness(t)
  const port = 21_000 + Math.floor(Math.random() * 8000)
  const upstream = await startTcp(t, (socket) => {
    socket.on('error', () => {})
    socket.once('data', (chunk: Buffer) => socket.end(`got ${chunk}`))
  })
  const closed = await findFreePorts(1)
  const refusing = config.create(StaticBackend, { address: `127.0.0.1:${closed}` })
  const fixed = config.create(HttpResponseBackend, { body: 'not for TCP connections' })
  const good = config.create(StaticBackend, { address: `127.0.0.1:${upstream}` })
  const group = config.create(TunnelGroupBackend, { labels: { raw: 'yes' } })
  const failover = config.create(FailoverBackend, { backends: [fixed, refusing, good] })
  const edgeId = config.create(TcpEdge, {
    hostports: [`localhost:${port}`],
    backend: { backend_id: failover },
  })
  await config.waitUntilApplied()
  const connect = () => openRawClient(t, port).write('hello').untilClosed()

  const dialled = await eventually(async () => {
    const response = await connect()
    return response.text !== '' && response
  }, 'the port is open')
  for (const name of ['a', 'b']) {
    const named = await startTcp(t, (socket) => socket.end(name))
    tunnels.tunnels.push(createLocalTunnel(named, { labels: { raw: 'yes' } }))
  }
  config.update(edgeId, { backend: { backend_id: group } })
  await config.waitUntilApplied()
  const shared = [await connect(), await connect(), await connect(), await connect()]

  assert.equal(dialled.text, 'got hello')
  assert.equal(
    shared
      .map(({ text }) => text)
      .toSorted()
      .join(''),
    'aabb',
  )
})

test('circular and oversized backend trees are skipped, and nothing hangs', async (t) => {
  const { config, routeId, sendRequest } = await startHarness(t)
  const one = config.create(FailoverBackend, { backends: [] })
  const two = config.create(FailoverBackend, { backends: [one] })
  config.update(one, { backends: [two] })
  let layer = [config.create(HttpResponseBackend, { body: 'deep' })]
  for (let depth = 0; depth < 7; depth++) {
    layer = Array.from({ length: 10 }, () => config.create(FailoverBackend, { backends: layer }))
  }
  const wide = config.create(FailoverBackend, { backends: [two, ...layer] })
  config.update(routeId, { backend: { backend_id: two } })
  await config.waitUntilApplied()

  const circular = await sendRequest()
  config.update(routeId, { backend: { backend_id: wide } })
  await config.waitUntilApplied()
  const deep = await sendRequest()

  assert.equal(circular.status, 503)
  assert.ok([200, 503].includes(deep.status))
})
