import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { startTcp } from '../../../test/support/local-server.ts'
import { openRawClient } from '../../../test/support/raw-client.ts'
import { startEdge } from '../testing/edge.ts'
import { createLocalTunnel, TestTunnels } from '../testing/tunnels.ts'

test('a public port forwards bytes both ways, with half-close', async (t) => {
  const payload = randomBytes(3 * 1024 * 1024)
  // Responds only after the client has ended, so that the half-close has to be forwarded.
  const upstream = await startTcp(t, (socket) => {
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('end', () => socket.end(Buffer.concat(chunks)))
  })
  const { edge, tunnels } = await startEdge(t)
  const port = await edge.ports.acquire()
  tunnels.ports.set(port, createLocalTunnel(upstream, { proto: 'tcp' }))

  const client = openRawClient(t, port).write(payload)
  client.socket.end()
  await client.untilClosed()

  assert.ok(client.received.equals(payload))
})

test('an upstream reset reaches the client as a reset, not as a clean end', async (t) => {
  const upstream = await startTcp(t, (socket) => {
    socket.write('half a')
    socket.once('data', () => socket.resetAndDestroy())
  })
  const { edge, tunnels } = await startEdge(t)
  const port = await edge.ports.acquire()
  tunnels.ports.set(port, createLocalTunnel(upstream, { proto: 'tcp' }))

  const client = await openRawClient(t, port).untilText('half a')
  client.write('go')
  await client.until(({ closed }) => closed)

  assert.equal(client.error?.code, 'ECONNRESET')
})

test('a connection to a port without a tunnel is reset, and so is a denied address', async (t) => {
  const upstream = await startTcp(t, (socket) => socket.end('secret'))
  const { edge, tunnels } = await startEdge(t)
  const [empty, denied] = [await edge.ports.acquire(), await edge.ports.acquire()]
  tunnels.ports.set(
    denied,
    createLocalTunnel(upstream, {
      proto: 'tcp',
      options: { ipRestriction: { allow: [], deny: ['127.0.0.0/8'] } },
    }),
  )

  for (const port of [empty, denied]) {
    const client = await openRawClient(t, port).until(({ closed }) => closed)
    assert.equal(client.text, '')
  }
})

test('a port is acquired once, and after its release other ports are assigned first', async (t) => {
  const { edge } = await startEdge(t, new TestTunnels(), {
    tcp: { host: '127.0.0.1', first: 24100, last: 24103 },
  })
  const { ports } = edge
  const first = await ports.acquire()

  await assert.rejects(ports.acquire(first), /taken/)
  await assert.rejects(ports.acquire(80), /not among the public ports/)
  ports.release(first)
  const others = [await ports.acquire(), await ports.acquire(), await ports.acquire()]
  assert.ok(!others.includes(first))
  assert.equal(await ports.acquire(), first)
  await assert.rejects(ports.acquire(), /All public ports/)
  ports.release(first)
  assert.equal(await ports.acquire(first), first)
})

test('two edges that reuse ports listen on the same one, and others cannot', async (t) => {
  const tcp = { host: '127.0.0.1', first: 24110, last: 24119 }
  const start = async (reusePort: boolean) => (await startEdge(t, new TestTunnels(), { tcp, reusePort })).edge
  const [first, second, other] = [await start(true), await start(true), await start(false)]

  const port = await first.ports.acquire()

  assert.equal(await second.ports.acquire(port), port)
  await assert.rejects(other.ports.acquire(port), { code: 'EADDRINUSE' })
})

test('a port that an edge chooses is not one that another server shares', async (t) => {
  const tcp = { host: '127.0.0.1', first: 24150, last: 24153 }
  const [first, second] = await Promise.all(
    [1, 2].map(async () => (await startEdge(t, new TestTunnels(), { tcp, reusePort: true })).edge),
  )
  const ports = [await first!.ports.acquire(), await second!.ports.acquire()]
  ports.push(await first!.ports.acquire(), await second!.ports.acquire())

  assert.equal(new Set(ports).size, 4)
  await assert.rejects(second!.ports.acquire(), /All public ports 24150-24153 are taken/)
})

test('closed connections are reported with their byte counts to the observer', async (t) => {
  const upstream = await startTcp(t, (socket) => socket.pipe(socket))
  const events: { hostId: string; bytesIn: number; bytesOut: number }[] = []
  const observe = {
    wantsRequests: () => false,
    onRequest: () => {},
    wantsConnections: (account: string) => account === 'ac_test',
    onConnection: (event: (typeof events)[number]) => events.push(event),
  }
  const { edge, tunnels } = await startEdge(t, new TestTunnels(), {}, { observe })
  const port = await edge.ports.acquire()
  const tunnel = createLocalTunnel(upstream, { proto: 'tcp' })
  tunnels.ports.set(port, tunnel)

  const client = await openRawClient(t, port).write('12345').untilText('12345')
  client.socket.end()
  await client.untilClosed()
  await eventually(() => events.length === 1, 'the connection is reported')

  assert.equal(events[0]?.hostId, tunnel.id)
  assert.deepEqual([events[0]?.bytesIn, events[0]?.bytesOut], [5, 5])
})
