import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { eventually, eventuallyEqual } from '../../test/support/eventually.ts'
import { startRelay } from '../../test/support/relay.ts'
import { silentSink } from '../base/io/streams/stream.ts'
import { type AgentSession, type BindResponse, ConnectionLost, type MuxStream } from '../protocol/index.ts'
import { openStream as openClientStream } from '../sessions/testing/client-stream.ts'
import { agentIdentity, type Platform, startPlatform } from '../sessions/testing/platform.ts'
import { createNodes, startNode } from './testing/node.ts'

const HOST = 'app.adit.test'

/** One connection of an agent, and the streams that reached it. */
interface TestLeg {
  readonly session: AgentSession
  readonly streams: MuxStream[]
}

/** Two nodes with a gateway each; the second reaches the first through a relay. */
async function startNodes(t: TestContext) {
  const nodes = createNodes()
  const resumeKey = randomBytes(32)
  const home = await startPlatform(t, { resumeKey, registry: { supersededMs: 50 } })
  const other = await startPlatform(t, { resumeKey, previous: home, registry: { supersededMs: 50 } })
  const homeNode = await startNode(t, nodes, 'home', { registry: home.registry })
  const link = await startRelay(t, Number(homeNode.cluster.address!.split(':')[1]))
  nodes.via.set('home', `127.0.0.1:${link.port}`)
  await homeNode.cluster.announce()
  await startNode(t, nodes, 'other', { registry: other.registry })
  return { home, other, link, nodes }
}

/** Connects an agent: a new session, or a leg of the session of the given one. */
async function connect(t: TestContext, platform: Platform, session?: AgentSession, number = 1) {
  const streams: MuxStream[] = []
  const { ClientId: clientId, Extra } = session?.authResponse ?? {}
  const joining = Extra && {
    clientId: clientId ?? '',
    cookie: Extra.Cookie,
    ...(number > 0 && { leg: { sessionId: Extra.AgentSessionID, number } }),
  }
  return {
    streams,
    session: await platform.agent(t, {
      identity: agentIdentity({ maxLegs: 4, ...joining }),
      onProxy(_header, stream) {
        stream.sink = { onData() {}, onEnd: () => stream.end(), onDrain() {}, onClose() {} }
        streams.push(stream)
      },
    }),
  } satisfies TestLeg
}

/** An agent with its home at the first node and a leg to the other, which know of both. */
async function startAgent(t: TestContext, { home, other }: { home: Platform; other: Platform }) {
  const first = await connect(t, home)
  const bound = await first.session.bind({ Proto: 'https', Opts: { Domain: HOST } })
  await eventually(() => other.registry.directory.atHost('https', HOST)?.current)
  const second = await connect(t, other, first.session)
  await eventuallyEqual(() => [home, other].map((node) => countLegs(node)), [2, 2])
  return { first, second, bound }
}

function countLegs({ registry }: Platform): number {
  return registry.sessionsOf('ac_1').flatMap((session) => registry.legsOf(session)).length
}

const openStream = (platform: Platform) => openClientStream(platform.registry.directory, HOST)

/** Binds the same tunnel again in the agent's next session. */
function rebind({ session }: TestLeg, { Id, Proto, Opts, Extra: { Token } }: BindResponse) {
  return session.bind({ Id, Proto, Opts, Extra: { Token } })
}

test('a leg to another node carries the streams of that node; the session stays one', async (t) => {
  const nodes = await startNodes(t)
  const { first, second } = await startAgent(t, nodes)

  for (let count = 0; count < 3; count++) openStream(nodes.other)
  openStream(nodes.home)

  await eventuallyEqual(() => [first.streams.length, second.streams.length], [1, 3])
  assert.equal(second.session.authResponse.Extra.Elsewhere, true)
  assert.equal(first.session.authResponse.Extra.Elsewhere, undefined)
  assert.deepEqual(
    nodes.other.registry.sessionsOf('ac_1').map(({ id }) => id),
    [first.session.authResponse.Extra.AgentSessionID],
  )
  await assert.rejects(second.session.bind({ Proto: 'https' }), /belongs to another node/)
  // A leg that ended is replaced by the hop through the link.
  second.session.destroy()
  await eventuallyEqual(() => [nodes.home, nodes.other].map((node) => countLegs(node)), [1, 1])
  openStream(nodes.other)
  await eventually(() => first.streams.length === 2)
})

test('a stream through the home whose leg breaks ends as lost, so that its request may be repeated', async (t) => {
  const { home, other } = await startNodes(t)
  const { session, streams } = await connect(t, home)
  await session.bind({ Proto: 'https', Opts: { Domain: HOST } })
  const { stream } = openStream(other)
  const closed = new Promise<Error | undefined>((onClose) => {
    stream.sink = { ...silentSink, onClose }
  })
  await eventually(() => streams.length === 1)

  session.destroy()

  assert.ok((await closed) instanceof ConnectionLost)
})

test('the end of the session at its home, and a revoked credential, end the leg at the other node', async (t) => {
  const nodes = await startNodes(t)
  const ended = await startAgent(t, nodes)

  ended.first.session.close()

  await eventually(() => ended.second.session.closed)
  assert.equal(nodes.other.registry.directory.atHost('https', HOST)?.current, undefined)
  const revoked = await startAgent(t, nodes)
  nodes.other.registry.revokeCredential('cr_1', 'The credential was deleted.')
  await eventually(() => revoked.second.session.closed && revoked.first.session.closed)
  await eventuallyEqual(() => [nodes.home, nodes.other].map((node) => countLegs(node)), [0, 0])
})

test('when the home is lost, the remote legs serve until the agent has moved', async (t) => {
  const nodes = await startNodes(t)
  const { first, second, bound } = await startAgent(t, nodes)
  const long = openStream(nodes.other)
  await eventually(() => second.streams.length === 1)

  nodes.nodes.hidden.add('home')
  nodes.link.freeze()
  nodes.link.cut()
  first.session.destroy()
  await eventually(() => countLegs(nodes.other) === 1)
  openStream(nodes.other).stream.reset()
  await eventually(() => second.streams.length === 2)
  const next = await connect(t, nodes.other, first.session, 0)
  await rebind(next, bound)

  openStream(nodes.other)
  await eventually(() => next.streams.length === 1)
  // The streams of the leg go on; then it is closed.
  assert.equal(long.closed(), false)
  assert.equal(second.session.closed, false)
  long.stream.reset()
  await eventually(() => second.session.closed)
  assert.equal(nodes.other.registry.sessionsOf('ac_1').length, 1)
})

test('when the home loses its only leg, its visitors are served over a remote leg until the agent is back', async (t) => {
  const nodes = await startNodes(t)
  const { first, second, bound } = await startAgent(t, nodes)

  first.session.destroy()
  await eventuallyEqual(() => [nodes.home, nodes.other].map((node) => countLegs(node)), [1, 1])
  openStream(nodes.home).stream.reset()
  await eventually(() => second.streams.length === 1)
  assert.equal(nodes.home.registry.sessionsOf('ac_1').length, 1)
  const next = await connect(t, nodes.home, first.session, 0)
  await rebind(next, bound)

  openStream(nodes.home)
  await eventually(() => next.streams.length === 1)
  await eventually(() => second.session.closed)
  assert.equal(nodes.home.registry.sessionsOf('ac_1').length, 1)
})

test('a session without a leg to its home ends with its last remote one', async (t) => {
  const nodes = await startNodes(t)
  const { first, second } = await startAgent(t, nodes)
  first.session.destroy()
  await eventuallyEqual(() => [nodes.home, nodes.other].map((node) => countLegs(node)), [1, 1])

  second.session.destroy()

  await eventually(() => nodes.home.registry.directory.atHost('https', HOST)?.current === undefined)
  await eventually(() => nodes.other.registry.directory.atHost('https', HOST)?.current === undefined)
  const stopped = nodes.home.events.filter(({ type }) => type === 'session_stopped')
  assert.equal(stopped.length, 1)
})

test('a node without a leg serves over that of another one while the home is lost', async (t) => {
  const nodes = await startNodes(t)
  const third = await startNode(t, nodes.nodes, 'third')
  const { first, second } = await startAgent(t, nodes)
  await eventually(() =>
    third.registry.sessionsOf('ac_1').some((each) => third.registry.legsOf(each).length === 2),
  )

  nodes.nodes.hidden.add('home')
  nodes.link.freeze()
  nodes.link.cut()
  first.session.destroy()
  await eventually(() =>
    third.registry.sessionsOf('ac_1').some((each) => third.registry.legsOf(each).length === 1),
  )
  openClientStream(third.registry.directory, HOST)

  await eventually(() => second.streams.length === 1)
  second.session.destroy()
  await eventually(() => third.registry.directory.atHost('https', HOST)?.current === undefined)
})

test('a session whose home is linked again keeps its leg, and loses the tunnels that ended meanwhile', async (t) => {
  const nodes = await startNodes(t)
  const { first, second } = await startAgent(t, nodes)
  const { Id } = await first.session.bind({ Proto: 'https', Opts: { Domain: 'other.adit.test' } })
  await eventually(() => nodes.other.registry.directory.atHost('https', 'other.adit.test')?.current)

  nodes.link.freeze()
  nodes.link.cut()
  await eventually(() => countLegs(nodes.other) === 1)
  await first.session.unbind(Id)
  assert.ok(nodes.other.registry.directory.atHost('https', 'other.adit.test')?.current)
  nodes.link.thaw()
  nodes.link.cut()

  await eventually(
    () => nodes.other.registry.directory.atHost('https', 'other.adit.test')?.current === undefined,
  )
  await eventually(() => countLegs(nodes.other) === 2)
  openStream(nodes.other)
  await eventually(() => second.streams.length === 1)
  assert.equal(second.session.closed, false)
})
