import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connect, createServer } from 'node:tls'
import { eventually } from '../../test/support/eventually.ts'
import { listen } from '../../test/support/local-server.ts'
import { startRelay } from '../../test/support/relay.ts'
import { silentSink } from '../base/io/streams/stream.ts'
import {
  CallReader,
  call,
  HeartbeatEcho,
  MuxSession,
  type MuxStream,
  StreamType,
  TypeReader,
  typeBytes,
} from '../protocol/index.ts'
import type { ClientInfo, Registry, TunnelSpec } from '../sessions/index.ts'
import { NODE_NAME } from './link.ts'
import { ca, createNodes, SECRET, session, startNode, tunnelSpec } from './testing/node.ts'
import { PeerStream } from './wire.ts'

const spec = tunnelSpec('a')

/** Opens a stream at `<name>.example.com`; resolves to the error with which it ends. */
function openStream(registry: Registry, name: string): Promise<Error | undefined> {
  const client: ClientInfo = {
    clientAddress: '192.0.2.9:1',
    serverAddress: '192.0.2.1:80',
    proto: 'http',
    via: 'endpoint',
    passthroughTls: false,
  }
  const stream = registry.directory.atHost('http', `${name}.example.com`)!.current.open(client)
  return new Promise((onClose) => {
    stream.sink = { ...silentSink, onClose }
  })
}

test('a starting node registers the tunnels of its peers at once, with the same ids', async (t) => {
  const nodes = createNodes()
  const first = await startNode(t, nodes, 'one')
  const agentSession = session('ts_1')
  first.registry.addSession(agentSession)
  const tunnel = first.registry.bind(agentSession, spec)

  const { registry } = await startNode(t, nodes, 'two')

  assert.equal(registry.directory.atHost('http', 'a.example.com')?.current?.id, tunnel.id)
  assert.deepEqual(
    registry.sessionsOf('ac_1').map(({ id, metadata, startedAt }) => ({ id, metadata, startedAt })),
    [{ id: 'ts_1', metadata: 'm', startedAt: 5 }],
  )
})

test('a tunnel whose description exceeds the stream window is published too', async (t) => {
  const nodes = createNodes()
  const first = await startNode(t, nodes, 'one')
  const second = await startNode(t, nodes, 'two')
  const agentSession = session('ts_1')
  const metadata = 'm'.repeat(600 * 1024)
  first.registry.addSession(agentSession)

  first.registry.bind(agentSession, { ...spec, metadata })
  first.registry.bind(agentSession, tunnelSpec('b'))

  await eventually(
    () => second.registry.directory.atHost('http', 'b.example.com')?.current !== undefined,
    'both tunnels are known',
  )
  assert.equal(second.registry.tunnelsOf('ac_1')[0]?.metadata, metadata)
})

for (const [what, fences] of Object.entries({
  'the newer claim': [3, 8],
  'the older tunnel, where no claim is stored,': [0, 0],
}))
  test(`of two nodes with one name ${what} wins on both`, async (t) => {
    const nodes = createNodes()
    const first = await startNode(t, nodes, 'one')
    const [one, other] = [session('ts_1'), session('ts_2')]
    first.registry.addSession(one)
    const second = await startNode(t, nodes, 'two')
    second.registry.addSession({ ...other, accountId: 'ac_2', credentialId: 'cr_2' })
    const [lower, higher] = fences as [number, number]
    // Both bind before either knows of the other.
    const older = first.registry.bind(one, { ...spec, identity: { id: 'tn_1', startedAt: 1 }, fence: lower })
    const newer = second.registry.bind(second.registry.session('ac_2', 'ts_2')!, {
      ...spec,
      identity: { id: 'tn_2', startedAt: 2 },
      fence: higher,
    })
    const winner = higher > lower ? newer : older

    for (const { registry } of [first, second])
      await eventually(
        () => registry.directory.atHost('http', 'a.example.com')?.current?.id === winner.id,
        'both nodes agree on the winner',
      )
    const remaining = [...first.registry.tunnelsIn(one), ...second.registry.tunnelsOf('ac_2')]
    assert.ok(remaining.every(({ id }) => id === winner.id))
  })

test('peers follow starts and stops, and do not republish them', async (t) => {
  const nodes = createNodes()
  const first = await startNode(t, nodes, 'one')
  const second = await startNode(t, nodes, 'two')
  const third = await startNode(t, nodes, 'three')
  const agentSession = session('ts_1')
  const served = () => [second, third].map(({ registry }) => registry.tunnelsOf('ac_1').length).join()

  first.registry.addSession(agentSession)
  first.registry.bind(agentSession, spec)
  await eventually(() => served() === '1,1', 'both have it')
  first.registry.removeSession(agentSession, 'closed')

  await eventually(() => served() === '0,0', 'both removed it')
  assert.deepEqual(second.registry.sessionsOf('ac_1'), [])
})

test('what is published is registered by every peer, and one that does not report holds nothing up', async (t) => {
  const nodes = createNodes()
  const first = await startNode(t, nodes, 'one')
  const second = await startNode(t, nodes, 'two')
  const agentSession = session('ts_1')
  first.registry.addSession(agentSession)

  for (let number = 0; number < 20; number++) {
    const host = `t${number}`
    first.registry.bind(agentSession, { ...tunnelSpec(host), bindId: host })
    await first.cluster.published()
    assert.notEqual(second.registry.directory.atHost('http', `${host}.example.com`)?.current, undefined)
  }
  // A watcher that never reports, as of the previous release.
  const [host, port] = first.cluster.address!.split(':')
  const socket = connect({ host, port: Number(port), servername: NODE_NAME, ca: ca.caPem })
  t.after(() => socket.destroy())
  await once(socket, 'secureConnect')
  const link = new MuxSession(socket, { role: 'client', onStream() {}, onClose() {} })
  await call(link, PeerStream.Hello, { secret: SECRET.toString('base64') }, 2000)
  link.open(typeBytes(PeerStream.Watch))
  first.registry.bind(agentSession, { ...tunnelSpec('last'), bindId: 'last' })
  await first.cluster.published()
})

test('peers that count receive what a node has counted, and one that rejects it stays linked', async (t) => {
  const nodes = createNodes()
  const received: unknown[] = []
  const first = await startNode(t, nodes, 'one')
  const second = await startNode(t, nodes, 'two', {
    counts: true,
    receive(_topic, counts) {
      received.push(counts)
      if (counts === 'unknown') throw new TypeError('There is no such count.')
    },
  })

  await eventually(() => {
    first.cluster.publish('counts', ['unknown', { key: 'a', counts: 1 }])
    return received.length >= 4
  })
  // The first one does not count, so nothing is sent to it.
  second.cluster.publish('counts', [{ key: 'b' }])

  assert.deepEqual(received.slice(0, 4), [
    'unknown',
    { key: 'a', counts: 1 },
    'unknown',
    { key: 'a', counts: 1 },
  ])
})

test('counts are not kept for a peer that does not take them, and it gets later ones', async (t) => {
  const nodes = createNodes()
  const slow = await startSlowPeer(t)
  await nodes.heartbeat({ id: 'slow', address: `127.0.0.1:${slow.port}` })
  const { cluster } = await startNode(t, nodes, 'one')
  const count = 'x'.repeat(50_000)
  await eventually(() => {
    cluster.publish('counts', [count])
    return slow.received() > 3 * count.length
  })

  for (let times = 0; times < 1000; times++) cluster.publish('counts', [count])
  await eventually(() => {
    slow.take()
    cluster.publish('counts', ['later'])
    return slow.hasReceived('later')
  })

  assert.ok(slow.received() < 20 * count.length, `${slow.received()} bytes`)
})

/** A peer that counts, and takes what others have counted when it is told to. */
async function startSlowPeer(t: TestContext) {
  let counts: MuxStream | undefined
  let received = ''
  const server = createServer(await ca.issue(NODE_NAME), (socket) => {
    new MuxSession(socket, {
      role: 'server',
      onStream(stream) {
        stream.sink = new TypeReader(
          stream,
          (type) => {
            if (type === PeerStream.Hello)
              stream.sink = new CallReader(
                stream,
                () => ({ node: 'slow', counts: true }),
                () => {},
              )
            else if (type === StreamType.Heartbeat) stream.sink = new HeartbeatEcho(stream)
            else if (type === PeerStream.Counts) {
              counts = stream
              stream.sink = {
                ...silentSink,
                onData(chunk) {
                  received += chunk
                },
              }
            }
          },
          2000,
        )
      },
      onClose() {},
    })
  })
  return {
    port: await listen(t, server),
    received: () => received.length,
    hasReceived: (text: string) => received.includes(text),
    take: () => counts?.consumed(received.length),
  }
}

test('peers follow the metadata that an SSH client names after its login', async (t) => {
  const nodes = createNodes()
  const first = await startNode(t, nodes, 'one')
  const second = await startNode(t, nodes, 'two')
  const client = { ...session('ts_1'), metadata: '' }
  first.registry.addSession(client)
  first.registry.bind(client, spec)
  await first.cluster.published()
  const revision = second.registry.revisionOf('ac_1')

  client.metadata = 'blue'
  first.registry.sessionChanged(client)
  await first.cluster.published()

  assert.equal(second.registry.session('ac_1', 'ts_1')?.metadata, 'blue')
  assert.ok(second.registry.revisionOf('ac_1') > revision)
  assert.notEqual(second.registry.directory.atHost('http', 'a.example.com')?.current, undefined)
})

test('peers follow what an agent patches', async (t) => {
  const nodes = createNodes()
  const first = await startNode(t, nodes, 'one')
  const second = await startNode(t, nodes, 'two')
  const agentSession = session('ts_1')
  first.registry.addSession(agentSession)
  const { bindId } = first.registry.bind(agentSession, spec)
  await eventually(
    () => second.registry.directory.atHost('http', 'a.example.com')?.current !== undefined,
    'the tunnel at the peer',
  )
  const copy = second.registry.directory.atHost('http', 'a.example.com')!.current

  first.registry.patch(agentSession, bindId, { name: 'new', options: { proxyProto: 0, trafficPolicy: '{}' } })
  await eventually(() => copy.name === 'new', 'the patch at the peer')

  assert.equal(copy.options.trafficPolicy, '{}')
  assert.equal(second.registry.directory.atHost('http', 'a.example.com')?.current, copy)
})

test('a stream to a tunnel that cannot be opened ends with an error', async (t) => {
  const nodes = createNodes()
  const first = await startNode(t, nodes, 'one')
  const agentSession = session('ts_1')
  first.registry.addSession(agentSession)
  first.registry.bind(agentSession, spec)
  const { registry } = await startNode(t, nodes, 'two')

  assert.ok((await openStream(registry, 'a')) instanceof Error)
})

test('a node that drains opens streams at tunnels of agents that could not move, and at no others', async (t) => {
  const nodes = createNodes()
  const first = await startNode(t, nodes, 'one')
  const opened: string[] = []
  for (const [name, state] of [
    ['moved', 'moving'],
    ['staying', 'online'],
  ] as const) {
    const agent = session(name)
    const open: TunnelSpec['open'] = () => {
      opened.push(name)
      throw new Error('The upstream is unavailable.')
    }
    first.registry.addSession(agent)
    agent.state = state
    first.registry.bind(agent, { ...tunnelSpec(name), open })
  }
  const { registry } = await startNode(t, nodes, 'two')
  await first.cluster.drain(0, true)

  for (const name of ['moved', 'staying']) await openStream(registry, name)

  assert.deepEqual(opened, ['staying'])
})

test('a process without the database secret sees and opens nothing', async (t) => {
  const nodes = createNodes()
  const first = await startNode(t, nodes, 'one')
  first.registry.addSession(session('ts_1'))
  const stranger = await startNode(t, nodes, 'two', { secret: Buffer.alloc(32, 8) })
  const [host, port] = first.cluster.address!.split(':')
  const socket = connect({ host, port: Number(port), servername: NODE_NAME, ca: ca.caPem })
  t.after(() => socket.destroy())
  await once(socket, 'secureConnect')
  const link = new MuxSession(socket, { role: 'client', onStream() {}, onClose() {} })

  const response = await call(link, PeerStream.Hello, { secret: 'bm8=' }, 2000)
  const watch = link.open(typeBytes(PeerStream.Watch))
  const ended = new Promise<Error | undefined>((resolve) => {
    watch.sink = {
      onData: () => assert.fail('unexpected data'),
      onEnd() {},
      onDrain() {},
      onClose: resolve,
    }
  })

  assert.match(String(response.Error), /secret/)
  assert.ok((await ended) instanceof Error)
  assert.deepEqual(stranger.registry.sessionsOf('ac_1'), [])
})

test('connections that introduce no peer keep none from a node, and end no link', async (t) => {
  const nodes = createNodes()
  const first = await startNode(t, nodes, 'one')
  const second = await startNode(t, nodes, 'two')
  const linked = (node: typeof first, count: number) => () =>
    node.cluster.agentAddresses.length === count && node.registry.sessionsOf('ac_1').length === count - 1
  second.registry.addSession(session('ts_2'))
  await eventually(linked(first, 2), 'both are linked')
  const [host, port] = first.cluster.address!.split(':')
  const strangers = await Promise.all(
    Array.from({ length: 300 }, async (_, index) => {
      const at = { host, port: Number(port) }
      const socket =
        index % 2 === 0 ? connectTcp(at) : connect({ ...at, servername: NODE_NAME, ca: ca.caPem })
      socket.on('error', () => {})
      t.after(() => socket.destroy())
      await Promise.race([once(socket, index % 2 === 0 ? 'connect' : 'secureConnect'), once(socket, 'close')])
      return socket
    }),
  )

  const third = await startNode(t, nodes, 'three')
  third.registry.addSession(session('ts_3'))

  await eventually(linked(first, 3), 'the third is linked')
  const open = strangers.filter((socket) => !socket.destroyed).length
  assert.ok(open > 200 && open <= 256, `${open} of them are open`)
})

test('a node is dialled at its advertised address, and an unreachable one affects no other', async (t) => {
  const nodes = createNodes()
  const hidden = await startNode(t, nodes, 'one', { advertise: 'not an address' })
  const first = await startNode(t, nodes, 'two')
  first.registry.addSession(session('ts_2'))
  hidden.registry.addSession(session('ts_1'))

  const { registry } = await startNode(t, nodes, 'three')

  assert.equal(hidden.cluster.address, 'not an address')
  assert.deepEqual(
    registry.sessionsOf('ac_1').map(({ id }) => id),
    ['ts_2'],
  )
})

test('a node missing from the list for a while keeps its link, and is not linked twice when it returns', async (t) => {
  const nodes = createNodes()
  const limits = { silenceMs: 1000 }
  const first = await startNode(t, nodes, 'one', { limits })
  const agentSession = session('ts_1')
  first.registry.addSession(agentSession)
  first.registry.bind(agentSession, spec)
  const second = await startNode(t, nodes, 'two', { limits })
  const remoteTunnel = () => second.registry.directory.atHost('http', 'a.example.com')?.current
  await eventually(() => remoteTunnel() !== undefined, 'the remote tunnel')
  const tunnel = remoteTunnel()
  const beats = countBeats(nodes)

  nodes.hidden.add('one')
  await beats.more(300)
  nodes.hidden.clear()
  await beats.more(300)

  assert.equal(remoteTunnel(), tunnel, 'the same remote tunnel, over the same link')
  assert.deepEqual(agentSession.ended, [])
})

test('nodes that are introduced to each other are linked while the list is unavailable', async (t) => {
  const unavailable = {
    heartbeat: () => Promise.reject(new Error('The database is away.')),
    list: async () => [],
    leave: async () => {},
  }
  const one = await startNode(t, unavailable, 'one')
  const two = await startNode(t, unavailable, 'two')
  const agentSession = session('ts_1')
  one.registry.addSession(agentSession)
  one.registry.bind(agentSession, tunnelSpec('app'))

  const nodes = [one.cluster.self!, two.cluster.self!]
  await Promise.all([one, two].map(({ cluster }) => cluster.introduce(nodes)))

  assert.ok(two.registry.directory.atHost('http', 'app.example.com')?.current)
  assert.deepEqual(two.cluster.agentAddresses, ['two.example.com:4443', 'one.example.com:4443'])
})

test('a stopped node is removed once it has been missing from a stable list', async (t) => {
  const nodes = createNodes()
  const limits = { silenceMs: 200 }
  const first = await startNode(t, nodes, 'one', { limits })
  const second = await startNode(t, nodes, 'two', { limits })
  assert.deepEqual(second.cluster.agentAddresses, ['two.example.com:4443', 'one.example.com:4443'])
  let changes = 0
  second.cluster.followAddresses(() => void changes++)

  await first.stop()

  await eventually(() => second.cluster.agentAddresses.length === 1, 'its address is no longer published')
  assert.equal(changes, 1)
})

test('a restarted node is linked once, under its new id', async (t) => {
  const nodes = createNodes()
  const second = await startNode(t, nodes, 'two')
  const firstRun = await startNode(t, nodes, 'one')
  const port = portOf(firstRun.cluster.address!)
  await firstRun.stop()
  // As after a crash: its row is still there.
  await nodes.heartbeat({ id: 'one', address: `127.0.0.1:${port}` })
  const secondRun = await startNode(t, nodes, 'one again', { port })
  const agentSession = session('ts_1')
  secondRun.registry.addSession(agentSession)
  secondRun.registry.bind(agentSession, spec)
  await eventually(
    () => second.registry.directory.atHost('http', 'a.example.com')?.current !== undefined,
    'it is linked',
  )
  const tunnel = second.registry.directory.atHost('http', 'a.example.com')?.current

  await countBeats(nodes).more(100)

  assert.equal(second.registry.directory.atHost('http', 'a.example.com')?.current, tunnel)
  assert.deepEqual(agentSession.ended, [])
})

test('partitioned nodes end nothing and reconnect', async (t) => {
  const nodes = createNodes()
  const limits = { silenceMs: 400 }
  const startCutOff = async (id: string) => {
    const relay = await startRelay(t, 0)
    nodes.via.set(id, `127.0.0.1:${relay.port}`)
    const node = await startNode(t, nodes, id, { limits })
    relay.target = portOf(node.cluster.address!)
    const agentSession = session(`ts_${id}`)
    node.registry.addSession(agentSession)
    node.registry.bind(agentSession, tunnelSpec(id))
    return { ...node, agentSession, relay }
  }
  const started = [await startCutOff('one'), await startCutOff('two')]
  const routes = () =>
    started.flatMap(({ registry }) =>
      ['one', 'two'].filter(
        (id) => registry.directory.atHost('http', `${id}.example.com`)?.current !== undefined,
      ),
    ).length
  await eventually(() => routes() === 4, 'both serve both', 20_000)

  for (const { relay } of started) relay.freeze()
  await eventually(() => routes() === 2, 'each serves its own', 20_000)
  for (const { relay } of started) relay.thaw()

  await eventually(() => routes() === 4, 'both serve both again', 20_000)
  assert.deepEqual(
    started.flatMap(({ agentSession }) => agentSession.ended),
    [],
  )
})

test('a tunnel whose address a peer is about to release is bound as soon as it is free', async (t) => {
  const nodes = createNodes()
  const [first, second] = [await startNode(t, nodes, 'one'), await startNode(t, nodes, 'two')]
  const third = await startNode(t, nodes, 'three')
  const holder = session('ts_1')
  third.registry.addSession(holder)
  third.registry.bind(holder, spec)
  const atThird = third.registry.directory.atHost('http', 'a.example.com')?.current
  const next = session('ts_2')
  for (const { registry } of [first, second])
    await eventually(() => registry.tunnelsOf('ac_1').length === 1, 'the holder is known')
  // The first node already knows of the end, the third one not yet.
  first.registry.removeSession(first.registry.session('ac_1', 'ts_1')!, 'closed')
  first.registry.addSession(next)
  first.registry.bind(next, spec)
  await eventually(() => third.registry.session('ac_1', 'ts_2') !== undefined, 'the third knows the session')
  assert.equal(third.registry.directory.atHost('http', 'a.example.com')?.current, atThird)

  third.registry.removeSession(holder, 'closed')

  const served = () =>
    [second, third].map(
      ({ registry }) => registry.directory.atHost('http', 'a.example.com')?.current?.sessionId,
    )
  await eventually(() => served().join() === 'ts_2,ts_2', 'both have the new holder')
})

function portOf(address: string): number {
  return Number(address.split(':')[1])
}

/** Waits for more heartbeats of any node. */
function countBeats(nodes: ReturnType<typeof createNodes>) {
  let count = 0
  const { heartbeat } = nodes
  nodes.heartbeat = async function (self) {
    count++
    return heartbeat.call(this, self)
  }
  return {
    async more(expected: number) {
      const end = count + expected
      await eventually(() => count >= end, `${expected} beats`, 20_000)
    },
  }
}

test('nodes that see different histories for long know that they use different databases', async (t) => {
  const nodes = createNodes()
  const histories: Record<string, string> = { one: 'his_1', two: 'his_1' }
  const start = (id: string) =>
    startNode(t, nodes, id, { history: () => histories[id]!, limits: { splitMs: 100 } })
  const [first, second] = [await start('one'), await start('two')]

  histories.two = 'his_2'
  await eventually(() => first.cluster.splitFrom === 'two', 'the first knows')
  await eventually(() => second.cluster.splitFrom === 'one', 'the second knows')
  histories.one = 'his_2'
  await eventually(() => first.cluster.splitFrom === undefined, 'they agree')
})
