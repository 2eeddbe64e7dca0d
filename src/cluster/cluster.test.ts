import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { connect, createSecureContext } from 'node:tls'
import { createTestCa } from '../../test/support/test-ca.ts'
import { compileAcl } from '../auth/index.ts'
import { systemClock } from '../base/clock.ts'
import { silentLog } from '../base/log.ts'
import { Secret } from '../base/secret.ts'
import { call, MuxSession, typeBytes } from '../protocol/index.ts'
import { type LiveSession, Registry, type TunnelSpec, type Visitor } from '../sessions/index.ts'
import { createCluster, NODE_NAME } from './cluster.ts'
import { PeerStream } from './wire.ts'

const SECRET = Buffer.alloc(32, 7)
const ca = await createTestCa()
const identity = await ca.issue(NODE_NAME)

/** The list of nodes, without a database. */
function createNodes() {
  const listed = new Map<string, string>()
  return {
    async beat({ id, address }: { id: string; address: string | undefined }) {
      if (address !== undefined) listed.set(id, address)
      return [...listed].filter(([other]) => other !== id).map(([other, at]) => ({ id: other, address: at }))
    },
    lastKnown: async () => [],
    async leave(id: string) {
      listed.delete(id)
    },
  }
}

async function startNode(
  t: TestContext,
  nodes: ReturnType<typeof createNodes>,
  id: string,
  { secret = SECRET, advertise }: { secret?: Buffer; advertise?: string } = {},
) {
  const registry = new Registry({
    ports: { acquire: async (port) => port ?? 1, release() {} },
    emit: (event) => cluster.onLive(event),
  })
  const cluster = createCluster({
    ...{ nodes, id, registry, clock: systemClock, log: silentLog },
    secret: new Secret(secret),
    secureContext: () => createSecureContext(identity),
    authorityPem: ca.caPem,
    listen: { host: '127.0.0.1', port: 0 },
    advertise,
    limits: { beatMs: 20, introductionMs: 500 },
  })
  await cluster.start()
  t.after(async () => {
    await cluster.stop()
    registry.close()
  })
  return { registry, cluster }
}

function session(id: string): LiveSession {
  return {
    ...{ id, accountId: 'ac_1', credentialId: 'cr_1', ownerId: 'usr_1', clientId: id, transport: 'adit/v2' },
    ...{ agentVersion: '1', os: 'linux', ip: '192.0.2.1', region: 'us', metadata: 'm', startedAt: 5 },
    acl: compileAcl(['*']),
    end() {},
    tunnelEnded() {},
    probe: async () => 'alive',
    command: async () => ({ done: true }),
  }
}

const spec: TunnelSpec = {
  ...{ bindId: 'b1', proto: 'http', host: 'a.example.com', port: 80, url: 'http://a.example.com' },
  ...{ hostport: 'a.example.com:80', name: 'n', description: '', metadata: '', forwardsTo: 'x' },
  forwardsProto: '',
  poolingEnabled: false,
  options: { proxyProto: 0 },
  open() {
    throw new Error('nobody is there')
  },
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 5000
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`Not in time: ${condition}`)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

test('a node that starts knows at once what is online elsewhere, with the ids it has there', async (t) => {
  const nodes = createNodes()
  const first = await startNode(t, nodes, 'one')
  const own = session('ts_1')
  first.registry.addSession(own)
  const tunnel = first.registry.bind(own, spec)

  const { registry } = await startNode(t, nodes, 'two')

  assert.equal(registry.find('http', 'a.example.com')?.id, tunnel.id)
  assert.deepEqual(
    registry.sessionsOf('ac_1').map(({ id, metadata, startedAt }) => ({ id, metadata, startedAt })),
    [{ id: 'ts_1', metadata: 'm', startedAt: 5 }],
  )
})

test('what comes and goes is followed, and told to nobody a second time', async (t) => {
  const nodes = createNodes()
  const first = await startNode(t, nodes, 'one')
  const second = await startNode(t, nodes, 'two')
  const third = await startNode(t, nodes, 'three')
  const own = session('ts_1')
  const served = () => [second, third].map(({ registry }) => registry.tunnelsOf('ac_1').length).join()

  first.registry.addSession(own)
  first.registry.bind(own, spec)
  await until(() => served() === '1,1')
  first.registry.removeSession(own, 'orderly')

  await until(() => served() === '0,0')
  assert.deepEqual(second.registry.sessionsOf('ac_1'), [])
})

test('a stream to a tunnel that cannot be opened ends as broken', async (t) => {
  const nodes = createNodes()
  const first = await startNode(t, nodes, 'one')
  const own = session('ts_1')
  first.registry.addSession(own)
  first.registry.bind(own, spec)
  const { registry } = await startNode(t, nodes, 'two')
  const visitor: Visitor = {
    clientAddress: '192.0.2.9:1',
    serverAddress: '192.0.2.1:80',
    proto: 'http',
    via: 'endpoint',
    passthroughTls: false,
  }

  const stream = registry.find('http', 'a.example.com')!.open(visitor)
  const ended = new Promise<Error | undefined>((resolve) => {
    stream.sink = { onData() {}, onEnd() {}, onDrain() {}, onClose: resolve }
  })

  assert.ok((await ended) instanceof Error)
})

test('a process that does not know the secret of the database sees and opens nothing', async (t) => {
  const nodes = createNodes()
  const first = await startNode(t, nodes, 'one')
  first.registry.addSession(session('ts_1'))
  const stranger = await startNode(t, nodes, 'two', { secret: Buffer.alloc(32, 8) })
  const [host, port] = first.cluster.address!.split(':')
  const socket = connect({ host, port: Number(port), servername: NODE_NAME, ca: ca.caPem })
  t.after(() => socket.destroy())
  await once(socket, 'secureConnect')
  const link = new MuxSession(socket, { role: 'client', onStream() {}, onClose() {} })

  const refused = await call(link, PeerStream.Hello, { secret: 'bm8=' }, 2000)
  const watch = link.open(typeBytes(PeerStream.Watch))
  const ended = new Promise<Error | undefined>((resolve) => {
    watch.sink = {
      onData: () => assert.fail('it was told something'),
      onEnd() {},
      onDrain() {},
      onClose: resolve,
    }
  })

  assert.match(String(refused.Error), /secret/)
  assert.ok((await ended) instanceof Error)
  assert.deepEqual(stranger.registry.sessionsOf('ac_1'), [])
})

test('a node is dialled at what it advertises, and one that cannot be dialled harms nobody', async (t) => {
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
