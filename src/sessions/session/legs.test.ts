import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventually, eventuallyEqual } from '../../../test/support/eventually.ts'
import { startRelay } from '../../../test/support/relay.ts'
import { ConcurrencyLimiter } from '../../base/io/sockets/concurrency-limiter.ts'
import { type ByteStream, silentSink } from '../../base/io/streams/stream.ts'
import { Secret } from '../../base/values/secret.ts'
import type { AgentSession, AgentSessionOptions, MuxStream } from '../../protocol/index.ts'
import { CLIENT, openStream as openClientStream } from '../testing/client-stream.ts'
import { agentIdentity, type Platform, startPlatform } from '../testing/platform.ts'
import type { LegTimes } from './legs.ts'

const HOST = 'app.adit.test'

/** Legs of one agent, and the streams that reached it on each. */
interface LeggedAgent {
  readonly legs: AgentSession[]
  readonly streams: MuxStream[][]
  /** Opens another leg, at another port if given. */
  join(number: number, options?: Partial<AgentSessionOptions & { port: number }>): Promise<AgentSession>
}

async function startAgent(t: TestContext, platform: Platform, legs: number): Promise<LeggedAgent> {
  const agent: LeggedAgent = {
    legs: [],
    streams: [],
    async join(number, options = {}) {
      const streams: MuxStream[] = []
      const { ClientId: clientId, Extra } = agent.legs[0]?.authResponse ?? {}
      const leg = Extra && {
        clientId: clientId ?? '',
        cookie: Extra.Cookie,
        leg: { sessionId: Extra.AgentSessionID, number },
      }
      const session = await platform.agent(t, {
        identity: agentIdentity({ maxLegs: 4, ...leg }),
        onProxy(_header, stream) {
          stream.sink = { onData() {}, onEnd: () => stream.end(), onDrain() {}, onClose() {} }
          streams.push(stream)
        },
        ...options,
      })
      agent.legs.push(session)
      agent.streams.push(streams)
      return session
    },
  }
  for (let number = 0; number < legs; number++) await agent.join(number)
  await agent.legs[0]!.bind({ Proto: 'https', Opts: { Domain: HOST } })
  return agent
}

const openStream = (platform: Platform) => openClientStream(platform.registry.directory, HOST)

const countsOf = ({ streams }: LeggedAgent) => streams.map(({ length }) => length)

test('four legs are one session, and streams spread evenly over them', async (t) => {
  const platform = await startPlatform(t)
  const agent = await startAgent(t, platform, 4)

  for (let count = 0; count < 8; count++) openStream(platform)

  await eventuallyEqual(() => countsOf(agent), [2, 2, 2, 2])
  assert.equal(platform.registry.sessionsOf('ac_1').length, 1)
  assert.equal(platform.events.filter(({ type }) => type === 'session_started').length, 1)
  assert.equal(agent.legs[0]!.authResponse.Extra.MaxLegs, 4)
  assert.deepEqual(
    new Set(agent.legs.map(({ authResponse }) => authResponse.Extra.AgentSessionID)),
    new Set([platform.registry.sessionsOf('ac_1')[0]!.id]),
  )
})

test('streams share the first leg of a short link', async (t) => {
  const platform = await startPlatform(t, { gateway: { legTimes: { shortRoundTripMs: 60_000 } } })
  const agent = await startAgent(t, platform, 4)
  const { legs } = platform.registry.sessionsOf('ac_1')[0]!

  // The first stream of a leg measures its round trip.
  for (let count = 0; count < 4; count++) openStream(platform)
  await eventuallyEqual(() => countsOf(agent), [1, 1, 1, 1])
  await eventually(() => legs!.all.every(({ session }) => session.roundTripMs !== undefined))
  for (let count = 0; count < 64; count++) openStream(platform)

  await eventuallyEqual(() => countsOf(agent), [64, 2, 1, 1])
})

test('a leg is no session of the account, and legs have a limit of their own', async (t) => {
  const gateway = {
    sessions: new ConcurrencyLimiter({ total: 3 }),
    legs: new ConcurrencyLimiter({ total: 5 }),
  }
  const platform = await startPlatform(t, { gateway })
  const agent = await startAgent(t, platform, 4)

  await assert.rejects(agent.join(4), /as many additional legs/)
  // Two are the account's share of three sessions.
  await platform.agent(t)
  await assert.rejects(platform.agent(t), { number: 108 })
  agent.legs[3]!.close()
  await eventually(async () => {
    const release = gateway.legs.acquire('ac_1')
    release?.()
    return release !== undefined
  }, 'the slot of the leg is free')
  await agent.join(4)
  assert.equal(platform.registry.sessionsOf('ac_1').length, 2)
})

test('a leg that dies fails only its own streams, and the session goes on without it', async (t) => {
  const platform = await startPlatform(t)
  const agent = await startAgent(t, platform, 2)
  const opened = [openStream(platform), openStream(platform)]
  await eventuallyEqual(() => countsOf(agent), [1, 1])

  agent.legs[0]!.destroy()

  await eventually(() => platform.registry.sessionsOf('ac_1')[0]!.legs!.all.length === 1)
  assert.deepEqual(
    opened.map(({ closed }) => closed()),
    [true, false],
  )
  openStream(platform)
  await eventuallyEqual(() => countsOf(agent), [1, 2])
  // Calls and commands go over the other leg as well.
  await agent.legs[1]!.bind({ Proto: 'https', Opts: { Domain: 'other.adit.test' } })
  const [session] = platform.registry.sessionsOf('ac_1')
  assert.deepEqual(await session!.command('restart'), { done: true })
  assert.equal(await session!.probe(), 'alive')
})

test('the session ends with its last leg', async (t) => {
  const platform = await startPlatform(t)
  const agent = await startAgent(t, platform, 2)

  agent.legs[0]!.close()
  await eventually(() => platform.gateway.connections === 1)
  assert.ok(platform.registry.directory.atHost('https', HOST)?.current)
  agent.legs[1]!.close()

  await eventually(() => platform.registry.sessionsOf('ac_1').length === 0)
  assert.equal(platform.registry.directory.atHost('https', HOST)?.current, undefined)
})

test('a leg that froze is left at once for one that answers, and closed after its tolerance', async (t) => {
  const platform = await startPlatform(t, {
    gateway: { minHeartbeatMs: 1, legTimes: { quietMs: 100 } },
  })
  const relay = await startRelay(t, platform.port)
  const heartbeat = { intervalMs: 60_000, toleranceMs: 500 }
  const agent = await startAgent(t, platform, 1)
  await agent.join(1, { port: relay.port, heartbeat })
  const { legs } = platform.registry.sessionsOf('ac_1')[0]!

  relay.freeze()
  // A leg is asked for a sign of life when a stream is opened.
  await eventually(() => openStream(platform) && legs!.all[1]!.suspect && !legs!.all[0]!.suspect)
  const before = countsOf(agent)[0]!
  const served = openStream(platform)

  await eventually(() => countsOf(agent)[0]! > before)
  await eventually(() => openStream(platform) && legs!.all.length === 1)
  assert.equal(served.closed(), false)
})

test('what is pooled on a leg that froze is outdated, also when no stream is opened', async (t) => {
  const platform = await startPlatform(t, {
    gateway: { minHeartbeatMs: 1, legTimes: { quietMs: 100, answerMs: 1 } },
  })
  const relay = await startRelay(t, platform.port)
  const agent = await startAgent(t, platform, 1)
  await agent.join(1, { port: relay.port, heartbeat: { intervalMs: 60_000, toleranceMs: 60_000 } })
  const [tunnel] = platform.registry.tunnelsOf('ac_1')
  const before = tunnel!.pathRevision

  relay.freeze()

  await eventually(() => tunnel!.pathRevision! > before)
})

/** Every leg counts as silent for too long. */
const ALWAYS_QUIET = { quietMs: -1 }

test('a stream waits a moment for a leg that was silent', async (t) => {
  const legTimes = { ...ALWAYS_QUIET, shortRoundTripMs: 60_000 }
  const platform = await startPlatform(t, { gateway: { legTimes } })
  const agent = await startAgent(t, platform, 1)
  const { legs } = platform.registry.sessionsOf('ac_1')[0]!
  const [tunnel] = platform.registry.tunnelsOf('ac_1')

  legs!.openOrRelay(tunnel!, CLIENT, () => assert.fail('a relay'))

  assert.equal(legs!.all[0]!.suspect, true)
  await eventuallyEqual(() => countsOf(agent), [1])
})

test('a stream does not wait for a leg that is far away, and is outdated once that answers', async (t) => {
  const legTimes = { ...ALWAYS_QUIET, shortRoundTripMs: 0 }
  const platform = await startPlatform(t, { gateway: { legTimes } })
  const agent = await startAgent(t, platform, 1)
  const { legs } = platform.registry.sessionsOf('ac_1')[0]!
  const [tunnel] = platform.registry.tunnelsOf('ac_1')
  const before = tunnel!.pathRevision
  const relay = new RelayStream()

  assert.equal(
    legs!.openOrRelay(tunnel!, CLIENT, () => relay),
    relay,
  )

  await eventually(() => tunnel!.pathRevision > before)
  await eventually(() => !legs!.all[0]!.suspect)
  assert.deepEqual(countsOf(agent), [0])
})

test('a stream is relayed when a leg does not answer in time', async (t) => {
  const { legs, tunnel } = await startFrozenLeg(t, { ...ALWAYS_QUIET, shortRoundTripMs: 20 })
  const relay = new RelayStream()

  const stream = legs.openOrRelay(tunnel, CLIENT, () => relay)
  stream.write(Buffer.from('hello'))

  await eventually(() => relay.received === 'hello')
  // The next one knows already.
  assert.equal(
    legs.openOrRelay(tunnel, CLIENT, () => relay),
    relay,
  )
})

test('a stream that is reset while it waits for a leg is closed', async (t) => {
  const { legs, tunnel } = await startFrozenLeg(t, { ...ALWAYS_QUIET, shortRoundTripMs: 60_000 })
  const stream = legs.openOrRelay(tunnel, CLIENT, () => assert.fail('a relay'))
  let closed = false
  stream.sink = { ...stream.sink, onClose: () => (closed = true) }

  stream.reset()

  await eventually(() => closed)
})

/** A session whose only leg has frozen. */
async function startFrozenLeg(t: TestContext, legTimes: Partial<LegTimes>) {
  const platform = await startPlatform(t, { gateway: { minHeartbeatMs: 1, legTimes } })
  const relay = await startRelay(t, platform.port)
  const agent = await startAgent(t, platform, 1)
  await agent.join(1, { port: relay.port, heartbeat: { intervalMs: 60_000, toleranceMs: 60_000 } })
  const { legs } = platform.registry.sessionsOf('ac_1')[0]!
  agent.legs[0]!.close()
  await eventually(() => legs!.all.length === 1)
  relay.freeze()
  return { legs: legs!, tunnel: platform.registry.tunnelsOf('ac_1')[0]! }
}

class RelayStream implements ByteStream {
  sink = silentSink
  received = ''
  write(chunk: Buffer): boolean {
    this.received += chunk.toString()
    return true
  }
  end(): void {}
  reset(): void {}
  consumed(): void {}
}

test('only the agent itself can add a leg to its session', async (t) => {
  const platform = await startPlatform(t)
  const otherToken = `${'b'.repeat(27)}_${'0'.repeat(43)}`
  platform.credentials.set(otherToken, {
    accountId: 'ac_1',
    credentialId: 'cr_2',
    ownerId: 'usr_1',
    acl: [],
  })
  const agent = await startAgent(t, platform, 1)
  const { ClientId: clientId, Extra } = agent.legs[0]!.authResponse
  const leg = { sessionId: Extra.AgentSessionID, number: 1 }
  const cookie = Extra.Cookie
  const stranger = await platform.agent(t)

  for (const changes of [
    { clientId, cookie: '1.forged', leg },
    { clientId: 'another', cookie, leg },
    { clientId, cookie, leg, authtoken: new Secret(otherToken) },
    { clientId, cookie, leg: { ...leg, sessionId: stranger.authResponse.Extra.AgentSessionID } },
    { clientId, cookie, leg: { ...leg, sessionId: 'ts_gone' } },
    { clientId, cookie, leg: { ...leg, number: 16 } },
  ])
    await assert.rejects(platform.agent(t, { identity: agentIdentity(changes) }), /would join is not online/)
  assert.equal(platform.registry.session('ac_1', leg.sessionId)!.legs!.all.length, 1)
})

test('the home rejects a leg that has to end at another process', async (t) => {
  const platform = await startPlatform(t)
  const agent = await startAgent(t, platform, 1)
  const { ClientId: clientId, Extra } = agent.legs[0]!.authResponse
  const leg = { sessionId: Extra.AgentSessionID, number: 1, mustBeRemote: true }

  await assert.rejects(
    platform.agent(t, { identity: agentIdentity({ clientId, cookie: Extra.Cookie, leg }) }),
    /has to end at another process/,
  )
  assert.equal(platform.registry.session('ac_1', leg.sessionId)!.legs!.all.length, 1)
})

test('a leg that reconnects replaces the connection it lost', async (t) => {
  const platform = await startPlatform(t)
  const agent = await startAgent(t, platform, 2)

  await agent.join(1)

  await eventually(() => agent.legs[1]!.closed)
  assert.equal(platform.registry.sessionsOf('ac_1')[0]!.legs!.all.length, 2)
  assert.equal(agent.legs[2]!.closed, false)
})

test('legs that nothing uses are closed, except one', async (t) => {
  const platform = await startPlatform(t, { gateway: { legTimes: { idleMs: 50 } } })
  const agent = await startAgent(t, platform, 3)
  openStream(platform)
  await eventuallyEqual(() => countsOf(agent), [1, 0, 0])

  await eventually(() => agent.legs[1]!.closed && agent.legs[2]!.closed)

  assert.equal(agent.legs[0]!.closed, false)
  assert.ok(platform.registry.directory.atHost('https', HOST)?.current)
})
