import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { compileAcl } from '../../auth/index.ts'
import { silentSink } from '../../base/io/streams/stream.ts'
import { endpointAddress } from '../../naming/index.ts'
import type { ProtocolError } from '../../protocol/index.ts'
import type { LiveSession } from '../session/live-session.ts'
import type { LiveTunnel, TunnelSpec } from '../session/live-tunnel.ts'
import { Registry, type RegistryOptions } from './registry.ts'
import { TunnelDirectory } from './tunnel-directory.ts'

let count = 0

interface RecordedSession extends LiveSession {
  endReasons: string[]
  endedTunnels: string[]
}

function session(changes: Partial<LiveSession> = {}): RecordedSession {
  const endReasons: string[] = []
  const endedTunnels: string[] = []
  return {
    id: `ts_${++count}`,
    accountId: 'ac_1',
    credentialId: 'cr_1',
    ownerId: 'usr_1',
    clientId: `client-${count}`,
    fence: count,
    transport: 'adit/v2',
    agentVersion: '1.0.0',
    os: 'linux',
    ip: '127.0.0.1',
    region: 'us',
    metadata: '',
    startedAt: 0,
    state: 'connecting',
    acl: compileAcl([]),
    end: (reason) => void endReasons.push(reason),
    tunnelEnded: (tunnel) => void endedTunnels.push(tunnel.bindId),
    command: async () => ({ done: true }),
    probe: async () => 'alive',
    endReasons,
    endedTunnels,
    ...changes,
  }
}

function spec(changes: Partial<TunnelSpec> & Pick<TunnelSpec, 'bindId' | 'address'>): TunnelSpec {
  return {
    name: '',
    description: '',
    metadata: '',
    forwardsTo: 'http://localhost:80',
    forwardsProto: '',
    poolingEnabled: false,
    poolingWeight: 1,
    options: { proxyProto: 0 },
    open: () => ({ sink: silentSink, write: () => true, end() {}, reset() {}, consumed() {} }),
    ...changes,
  }
}

function named(bindId: string, host: string, changes: Partial<TunnelSpec> = {}): TunnelSpec {
  return spec({
    bindId,
    address: endpointAddress('https', host, 443),
    ...changes,
  })
}

function onPort(bindId: string, port: number): TunnelSpec {
  return spec({ bindId, address: endpointAddress('tcp', 't.test', port) })
}

function labelled(bindId: string, labels: Record<string, string>): TunnelSpec {
  return spec({ bindId, address: { labels } })
}

interface Setup {
  registry: Registry
  events: string[]
  open: Set<number>
}

function createRegistry(options: Partial<RegistryOptions> = {}): Setup {
  const events: string[] = []
  const open = new Set<number>()
  const registry = new Registry({
    ports: {
      async acquire(port = 20_000) {
        if (open.has(port)) throw new Error('taken')
        open.add(port)
        return port
      },
      release: (port) => void open.delete(port),
    },
    ...options,
  })
  registry.subscribe((event) =>
    events.push(`${event.type} ${'session' in event ? event.session.id : event.tunnel.bindId}`),
  )
  return { registry, events, open }
}

function add(registry: Registry, changes: Partial<LiveSession> = {}): RecordedSession {
  const added = session(changes)
  registry.addSession(added)
  return added
}

const hasNumber = (number: number) => (error: ProtocolError) => error.number === number

test('a bound name is found by its protocol and host, and by nothing else', () => {
  const { registry } = createRegistry()

  const tunnel = registry.bind(add(registry), named('b', 'a.test'))

  assert.equal(registry.directory.atHost('https', 'a.test')?.current, tunnel)
  assert.equal(registry.directory.atHost('http', 'a.test')?.current, undefined)
  assert.equal(registry.directory.atHost('tls', 'a.test')?.current, undefined)
  assert.equal(registry.directory.atHost('https', 'b.a.test')?.current, undefined)
})

test('the revision of an account tells that a tunnel came and went, also on a peer node', () => {
  const { registry } = createRegistry()
  const [local, remote] = [add(registry), add(registry, { remote: true })]
  const revisions = [registry.revisionOf('ac_1')]

  for (const session of [local, remote]) {
    registry.bind(session, labelled('b', { app: 'till' }))
    registry.unbind(session, 'b')
    revisions.push(registry.revisionOf('ac_1'))
  }
  add(registry, { accountId: 'ac_2' })

  assert.equal(new Set(revisions).size, 3)
  assert.equal(registry.revisionOf('ac_1'), revisions.at(-1))
})

test('the exact name wins over wildcards, and the most specific wildcard over others', () => {
  const { registry } = createRegistry()
  const agent = add(registry)
  const wide = registry.bind(agent, named('1', '*.test'))
  const near = registry.bind(agent, named('2', '*.a.test'))
  const exact = registry.bind(agent, named('3', 'x.a.test'))

  const matches = ['x.a.test', 'y.a.test', 'z.y.a.test', 'b.test', 'a.test', 'test'].map(
    (host) => registry.directory.atHost('https', host)?.current,
  )

  assert.deepEqual(matches, [exact, near, near, wide, wide, undefined])
})

test('a bound name is rejected for others, also under the other protocol of its listener', () => {
  const { registry } = createRegistry()
  registry.bind(add(registry), named('b', 'a.test'))
  const other = add(registry)

  assert.throws(() => registry.bind(other, named('b', 'a.test')), hasNumber(334))
  assert.throws(
    () => registry.bind(other, named('b', 'a.test', { address: endpointAddress('tls', 'a.test', 443) })),
    hasNumber(334),
  )
  assert.doesNotThrow(() =>
    registry.bind(other, named('b', 'a.test', { address: endpointAddress('http', 'a.test', 80) })),
  )
})

test('tunnels pool when all allow it and belong to one account, and rotate', () => {
  const { registry } = createRegistry()
  const pooled = { poolingEnabled: true }
  const one = registry.bind(add(registry), named('b', 'a.test', pooled))
  const two = registry.bind(add(registry), named('b', 'a.test', pooled))

  const selected = [1, 2, 3, 4].map(() => {
    // Looking a name up, as TLS handshakes do, takes no turn.
    const current = registry.directory.atHost('https', 'a.test')?.current
    assert.equal(registry.directory.atHost('https', 'a.test')?.current, current)
    const taken = registry.directory.atHost('https', 'a.test')?.next()
    assert.equal(taken, current)
    return taken
  })

  assert.equal(selected.filter((tunnel) => tunnel === one).length, 2)
  assert.equal(selected.filter((tunnel) => tunnel === two).length, 2)
  assert.deepEqual(registry.directory.poolOf(two), [one, two])
  assert.throws(() => registry.bind(add(registry), named('b', 'a.test')), hasNumber(334))
  const stranger = add(registry, { accountId: 'ac_2', credentialId: 'cr_2' })
  assert.throws(() => registry.bind(stranger, named('b', 'a.test', pooled)), hasNumber(334))
})

test('pooled tunnels get their share by weight, which can change, and weight 0 is standby', () => {
  const { registry } = createRegistry()
  const sessions = [add(registry), add(registry), add(registry)]
  const bind = (index: number, poolingWeight: number) =>
    registry.bind(
      sessions[index]!,
      named(`b${index}`, 'a.test', { name: `${index}`, poolingEnabled: true, poolingWeight }),
    )
  const tunnels = [bind(0, 3), bind(1, 1), bind(2, 0)]
  const taken = (count: number) =>
    Array.from({ length: count }, () => registry.directory.atHost('https', 'a.test')?.next()?.name).join('')

  assert.equal(taken(8), '00100010')
  assert.deepEqual(
    registry.directory.poolOf(tunnels[2]!).map(({ name }) => name),
    ['0', '1', '2'],
  )
  registry.patch(sessions[1]!, 'b1', { poolingWeight: 3 })
  assert.equal(taken(4), '0101')
  registry.patch(sessions[0]!, 'b0', { poolingWeight: 0 })
  assert.equal(taken(2), '11')
  registry.unbind(sessions[1]!, 'b1')
  assert.equal(taken(4), '0202')
})

test('a reconnecting agent takes its name from its stale session, whose end removes nothing', () => {
  const { registry, events } = createRegistry()
  const stale = add(registry, { clientId: 'same' })
  registry.bind(stale, named('b', 'a.test'))
  const back = add(registry, { clientId: 'same' })

  const tunnel = registry.bind(back, named('b', 'a.test'))
  registry.removeSession(stale, 'lost')

  assert.equal(registry.directory.atHost('https', 'a.test')?.current, tunnel)
  assert.deepEqual(events, [
    `session_started ${stale.id}`,
    'tunnel_started b',
    `session_started ${back.id}`,
    'tunnel_stopped b',
    'tunnel_started b',
    `session_stopped ${stale.id}`,
  ])
})

test('reconnecting costs the same however many agents a credential has', () => {
  const { registry } = createRegistry()
  let reads = 0
  /** A session that counts reads of its client id. */
  const counted = (clientId: string) =>
    Object.defineProperty(session({ clientId }), 'clientId', {
      get: () => {
        reads++
        return clientId
      },
    })
  const clients = Array.from({ length: 500 }, (_, index) => `agent-${index}`)
  for (const clientId of clients) registry.addSession(counted(clientId))
  reads = 0

  for (const clientId of clients) {
    const fence = registry.nextFence('cr_1', clientId, 0)
    const back = counted(clientId)
    assert.ok(fence > 1)
    registry.addSession(back)
  }

  assert.ok(reads <= 10 * clients.length, `${reads} reads for ${clients.length} agents`)
  registry.close()
})

test('a stale session is closed as soon as all its tunnels are rebound, labels included', () => {
  const { registry } = createRegistry()
  const stale = add(registry, { clientId: 'same' })
  registry.bind(stale, named('name', 'a.test'))
  registry.bind(stale, labelled('labels', { app: 'web' }))
  const back = add(registry, { clientId: 'same' })

  registry.bind(back, named('name', 'a.test'))
  const endedEarly = stale.endReasons.length
  const tunnel = registry.bind(back, labelled('labels', { app: 'web' }))

  assert.equal(endedEarly, 0)
  assert.equal(stale.endReasons.length, 1)
  assert.equal(registry.has(stale), false)
  assert.deepEqual(registry.directory.findLabelled('ac_1', { app: 'web' }), [tunnel])
})

test('another client of the same credential does not take a name that is online', () => {
  const { registry } = createRegistry()
  registry.bind(add(registry, { clientId: 'one' }), named('b', 'a.test'))

  assert.throws(() => registry.bind(add(registry, { clientId: 'two' }), named('b', 'a.test')), hasNumber(334))
})

test('a stale session is closed after a timeout, and its remaining names get a grace period', async () => {
  const { registry } = createRegistry({ supersededMs: 5 })
  const stale = add(registry, { clientId: 'same' })
  registry.bind(stale, named('old', 'old.test'))
  const back = add(registry, { clientId: 'same' })
  const tunnel = registry.bind(back, named('b', 'a.test'))

  await eventually(() => stale.endReasons.length === 1, 'the end of the stale session')

  assert.equal(registry.has(stale), false)
  assert.equal(registry.directory.atHost('https', 'old.test')?.current, undefined)
  assert.equal(registry.directory.atHost('https', 'a.test')?.current, tunnel)
  assert.doesNotThrow(() => registry.bind(back, named('old', 'old.test')))
})

test('the name of a lost session is reserved for its credential until the grace period ends', async () => {
  const { registry } = createRegistry({ graceMs: 20 })
  const lost = add(registry)
  registry.bind(lost, named('b', 'a.test'))
  registry.removeSession(lost, 'lost')
  const stranger = add(registry, { accountId: 'ac_2', credentialId: 'cr_2' })

  assert.throws(() => registry.bind(stranger, named('b', 'a.test')), hasNumber(334))
  const returning = add(registry)
  const tunnel = registry.bind(returning, named('b', 'a.test'))
  assert.equal(registry.directory.atHost('https', 'a.test')?.current, tunnel)

  registry.removeSession(returning, 'lost')
  assert.throws(() => registry.bind(stranger, named('b', 'a.test')), hasNumber(334))
  await eventually(() => {
    try {
      return registry.bind(stranger, named('b', 'a.test')) !== undefined
    } catch {
      return false
    }
  }, 'the end of the grace period')
})

test('an orderly end and an unbind free the name at once', () => {
  const { registry } = createRegistry()
  const one = add(registry)
  registry.bind(one, named('b', 'a.test'))
  registry.bind(one, named('c', 'c.test'))
  const stranger = add(registry, { accountId: 'ac_2', credentialId: 'cr_2' })

  registry.unbind(one, 'c')
  registry.unbind(one, 'unknown')
  registry.removeSession(one, 'closed')

  assert.doesNotThrow(() => registry.bind(stranger, named('b', 'a.test')))
  assert.doesNotThrow(() => registry.bind(stranger, named('c', 'c.test')))
})

test('bind ids are unique per session: the same id in two sessions is two tunnels', () => {
  const { registry } = createRegistry()
  const one = add(registry)
  const two = add(registry)
  registry.bind(one, named('same', 'one.test'))
  const other = registry.bind(two, named('same', 'two.test'))

  registry.unbind(one, 'same')

  assert.equal(registry.directory.atHost('https', 'one.test')?.current, undefined)
  assert.equal(registry.directory.atHost('https', 'two.test')?.current, other)
})

test('the same id bound again in a session moves the tunnel', () => {
  const { registry } = createRegistry()
  const agent = add(registry)
  registry.bind(agent, named('b', 'one.test'))

  const moved = registry.bind(agent, named('b', 'two.test'))

  assert.equal(registry.directory.atHost('https', 'one.test')?.current, undefined)
  assert.equal(registry.directory.atHost('https', 'two.test')?.current, moved)
  assert.deepEqual(registry.tunnelsIn(agent), [moved])
})

test('a port stays open while its tunnel is online and in grace, and is released afterwards', async () => {
  const { registry, open } = createRegistry({ graceMs: 15 })
  const agent = add(registry)
  const port = await registry.acquirePort()
  const tunnel = registry.bind(agent, onPort('b', port))
  assert.equal(registry.directory.atPort(port)?.next(), tunnel)

  registry.removeSession(agent, 'lost')
  const duringGrace = [registry.directory.atPort(port)?.next(), open.has(port)]
  const back = add(registry)
  assert.equal(await registry.acquirePort(port), port)
  registry.bind(back, onPort('b', port))
  registry.removeSession(back, 'lost')
  await eventually(() => !open.has(port), 'the release of the port')

  assert.deepEqual(duringGrace, [undefined, true])
  await assert.rejects(async () => {
    open.add(20_005)
    await registry.acquirePort(20_005)
  }, /taken/)
})

test('unbinding a TCP tunnel releases its port at once', async () => {
  const { registry, open } = createRegistry()
  const agent = add(registry)
  const port = await registry.acquirePort()
  registry.bind(agent, onPort('b', port))

  registry.unbind(agent, 'b')

  assert.equal(open.size, 0)
})

test('labelled tunnels are found by any subset of their labels, in their account only', () => {
  const { registry } = createRegistry()
  const agent = add(registry)
  const web1 = registry.bind(agent, labelled('1', { app: 'web', zone: 'a' }))
  const web2 = registry.bind(agent, labelled('2', { app: 'web', zone: 'b' }))
  registry.bind(add(registry, { accountId: 'ac_2' }), labelled('3', { app: 'web', zone: 'a' }))
  const ids = (matches: readonly LiveTunnel[]) => matches.map(({ bindId }) => bindId)

  assert.deepEqual(registry.directory.findLabelled('ac_1', { app: 'web' }), [web1, web2])
  assert.deepEqual(registry.directory.findLabelled('ac_1', { zone: 'a', app: 'web' }), [web1])
  assert.deepEqual(ids(registry.directory.findLabelled('ac_2', { zone: 'a' })), ['3'])
  assert.deepEqual(registry.directory.findLabelled('ac_1', { app: 'api' }), [])
  assert.deepEqual(registry.directory.findLabelled('ac_1', { app: 'web', zone: 'c' }), [])
  assert.deepEqual(registry.directory.findLabelled('ac_3', { app: 'web' }), [])
})

test('a selector returns the same array until a labelled tunnel of the account starts or stops', () => {
  const { registry } = createRegistry()
  const agent = add(registry)
  const selector = { app: 'web' }
  registry.bind(agent, labelled('1', selector))
  const first = registry.directory.findLabelled('ac_1', selector)

  registry.bind(agent, named('n', 'a.test'))
  const second = registry.directory.findLabelled('ac_1', selector)
  registry.bind(agent, labelled('2', { app: 'web' }))
  const third = registry.directory.findLabelled('ac_1', selector)
  registry.removeSession(agent, 'closed')
  const fourth = registry.directory.findLabelled('ac_1', selector)
  registry.bind(add(registry), labelled('4', { app: 'web' }))
  const fifth = registry.directory.findLabelled('ac_1', selector)

  assert.equal(second, first)
  assert.deepEqual([third.length, fourth.length, fifth.length], [2, 0, 1])
})

test('a deleted credential loses its sessions and names at once, also a session still authenticating', () => {
  const { registry } = createRegistry()
  const one = add(registry)
  registry.bind(one, named('b', 'a.test'))
  const other = add(registry, { credentialId: 'cr_2', accountId: 'ac_2' })

  registry.revokeCredential('cr_1', 'The credential was deleted.')

  assert.deepEqual(one.endReasons, ['The credential was deleted.'])
  assert.deepEqual(other.endReasons, [])
  assert.equal(registry.directory.atHost('https', 'a.test')?.current, undefined)
  assert.doesNotThrow(() => registry.bind(other, named('b', 'a.test')))
  assert.throws(() => registry.addSession(session()), hasNumber(300))
  assert.doesNotThrow(() => registry.addSession(session(), registry.credentialChangeCount))
  registry.close()
})

test('a deleted credential also ends the legs of sessions whose agents have moved', () => {
  const { registry } = createRegistry()
  const [moved, ended] = [add(registry), add(registry)]
  for (const former of [moved, ended]) {
    former.state = 'moving'
    registry.bind(former, named(former.id, `${former.id}.test`))
    registry.bind(add(registry, { clientId: former.clientId }), named('b', `${former.id}.test`))
  }
  registry.removeSession(ended, 'closed')

  registry.revokeCredential('cr_1', 'The credential was deleted.')

  assert.deepEqual(moved.endReasons, ['The agent has connected again.', 'The credential was deleted.'])
  assert.deepEqual(ended.endReasons, ['The agent has connected again.'])
  registry.close()
})

test('new rules of a credential end exactly the tunnels they forbid, and apply to later sessions', () => {
  const { registry } = createRegistry()
  const agent = add(registry)
  const good = registry.bind(agent, named('good', 'a.ok.test'))
  registry.bind(agent, named('bad', 'a.test'))
  registry.bind(agent, labelled('labels', { app: 'web' }))
  registry.bind(agent, onPort('port', 20_000))

  registry.updateAcl('cr_1', ['bind:*.ok.test'])
  const newSession = session()
  registry.addSession(newSession)

  assert.deepEqual(agent.endedTunnels.toSorted(), ['bad', 'labels', 'port'])
  assert.deepEqual(registry.tunnelsIn(agent), [good])
  assert.equal(newSession.acl.allowsName('b.test'), false)
  registry.close()
})

test('accounts see their own sessions and tunnels only', () => {
  const { registry } = createRegistry()
  const mine = add(registry)
  const tunnel = registry.bind(mine, named('b', 'a.test'))
  const theirs = add(registry, { accountId: 'ac_2' })

  assert.deepEqual(registry.sessionsOf('ac_1'), [mine])
  assert.deepEqual(registry.tunnelsOf('ac_1'), [tunnel])
  assert.deepEqual(registry.tunnelsOf('ac_2'), [])
  assert.equal(registry.session('ac_1', theirs.id), undefined)
  assert.equal(registry.session('ac_2', theirs.id), theirs)
})

test('a remote copy of a session never replaces or ends the original, and is registered once', () => {
  const { registry } = createRegistry()
  const home = add(registry, { id: 'ts_home' })
  const tunnel = registry.bind(home, named('b', 'a.test'))
  const first = add(registry, { id: 'ts_far', remote: true })
  registry.bind(first, named('far', 'far.test'))

  const ownRemote = add(registry, { ...home, fence: 99, remote: true })
  const second = add(registry, { ...first, fence: first.fence! })
  registry.bind(second, named('far', 'far.test'))

  assert.equal(registry.has(ownRemote), false)
  assert.throws(() => registry.bind(ownRemote, named('b', 'a.test')))
  assert.equal(registry.directory.atHost('https', 'a.test')?.current, tunnel)
  assert.equal(registry.has(first), false)
  assert.equal(registry.sessionsOf('ac_1').length, 2)
  assert.equal(registry.tunnelsOf('ac_1').length, 2)
  assert.deepEqual(
    [home.endReasons, ownRemote.endReasons, first.endReasons, second.endReasons],
    [[], [], [], []],
  )
})

test('in whatever order nodes learn of the sessions of one agent, they keep only the latest', () => {
  const latest = 3
  for (const order of permutations([0, 1, 2, latest]))
    for (const homeAt of order) {
      const { registry } = createRegistry()
      const sessions = [0, 1, 2, latest].map((fence) =>
        session({ id: `ts_${fence}`, clientId: 'same', fence, remote: fence !== homeAt }),
      )
      for (const index of order) {
        const each = sessions[index]!
        registry.addSession(each)
        try {
          registry.bind(each, named('b', 'a.test'))
        } catch (error) {
          assert.notEqual(index, latest, String(error))
        }
      }

      const served = registry.directory.atHost('https', 'a.test')?.current?.sessionId
      assert.equal(served, `ts_${latest}`, `order ${order}, local session ${homeAt}`)
      assert.deepEqual(sessions[latest]!.endReasons, [])
    }
})

function permutations(values: number[]): number[][] {
  if (values.length < 2) return [values]
  return values.flatMap((value) =>
    permutations(values.filter((other) => other !== value)).map((rest) => [value, ...rest]),
  )
}

test('the latest session of an agent ends an earlier one that another node still has', () => {
  const { registry } = createRegistry()
  add(registry, { clientId: 'same', fence: 5 })

  const stale = add(registry, { clientId: 'same', fence: 4, remote: true })

  assert.equal(stale.endReasons.length, 1)
  assert.equal(registry.has(stale), false)
})

test('a new session gets a higher fence than its cookie and all registered sessions', () => {
  const { registry } = createRegistry()
  add(registry, { credentialId: 'cr_1', clientId: 'same', fence: 7, remote: true })

  assert.equal(registry.nextFence('cr_1', 'same', 3), 8)
  assert.equal(registry.nextFence('cr_1', 'same', 9), 10)
  assert.equal(registry.nextFence('cr_1', 'other', 0), 1)
})

test('a newer claim evicts an older one, whose agent is notified and stays connected', () => {
  const outranked: string[] = []
  const { registry } = createRegistry({ onOutranked: ({ bindId }) => void outranked.push(bindId) })
  const older = add(registry)
  registry.bind(older, named('old', 'a.test', { fence: 5 }))
  const newer = add(registry, { accountId: 'ac_2', credentialId: 'cr_2' })

  assert.throws(() => registry.bind(newer, named('new', 'a.test', { fence: 4 })), hasNumber(334))
  const tunnel = registry.bind(newer, named('new', 'a.test', { fence: 6 }))

  assert.equal(registry.directory.atHost('https', 'a.test')?.current, tunnel)
  assert.deepEqual(older.endedTunnels, ['old'])
  assert.deepEqual(older.endReasons, [])
  assert.deepEqual(outranked, ['old'])
})

test('a granted claim overrides the grace period of another credential', () => {
  const { registry } = createRegistry()
  const lost = add(registry)
  registry.bind(lost, named('old', 'a.test', { fence: 5 }))
  registry.removeSession(lost, 'lost')
  const other = add(registry, { credentialId: 'cr_2' })

  assert.throws(() => registry.bind(other, named('new', 'a.test')), hasNumber(334))
  const tunnel = registry.bind(other, named('new', 'a.test', { fence: 6 }))

  assert.equal(registry.directory.atHost('https', 'a.test')?.current, tunnel)
  registry.close()
})

test('while claims are unverified, names of this node are not served and those of peers are', () => {
  let serving = true
  const { registry } = createRegistry({ directory: new TunnelDirectory(() => serving) })
  registry.bind(add(registry), named('here', 'here.test'))
  const remote = registry.bind(add(registry, { remote: true }), named('there', 'there.test'))
  registry.bind(add(registry), onPort('port', 20_000))

  serving = false

  assert.equal(registry.directory.atHost('https', 'here.test')?.current, undefined)
  assert.equal(registry.directory.atPort(20_000)?.next(), undefined)
  assert.equal(registry.directory.atHost('https', 'there.test')?.current, remote)
})

test('a name lost to another session ends only its own tunnel', () => {
  const { registry } = createRegistry()
  const agent = add(registry)
  const lost = registry.bind(agent, named('lost', 'lost.test', { fence: 1 }))
  const remaining = registry.bind(agent, named('kept', 'kept.test', { fence: 2 }))

  registry.revoke('ac_1', agent.id, lost.id)

  assert.deepEqual(agent.endedTunnels, ['lost'])
  assert.deepEqual(registry.tunnelsIn(agent), [remaining])
})
