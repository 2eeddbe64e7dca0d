import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventually, eventuallyEqual } from '../../../test/support/eventually.ts'
import { ErrorCode, type ServedSession, StreamType } from '../../protocol/index.ts'
import { startAgent, testSettings } from '../testing/agent.ts'
import { TestGateway } from '../testing/gateway.ts'

async function start(t: TestContext, maxLegs: number | undefined, legs = 4, workers = 1) {
  const gateway = await TestGateway.start(t)
  gateway.maxLegs = maxLegs
  gateway.workers = workers
  const { agent } = startAgent(t, gateway, { settings: testSettings(gateway, { legs }) })
  await agent.connection.session(60_000)
  return { gateway, agent }
}

/** Opens a stream to a tunnel that does not exist: the agent resets it. */
function openStream(leg: ServedSession): void {
  const header = { Id: 'none', ClientAddr: '192.0.2.1:1', Proto: 'tcp', EdgeType: '0', PassthroughTLS: false }
  leg.openProxy(header).sink = { onData() {}, onEnd() {}, onDrain() {}, onClose() {} }
}

const openLegs = ({ legs }: TestGateway) => legs.filter(({ closed }) => !closed)

test('an agent has one leg until its first stream, then as many as both sides allow', async (t) => {
  const { gateway, agent } = await start(t, 3)
  assert.equal(gateway.legs.length, 1)

  openStream(gateway.legs[0]!)

  await eventually(() => gateway.legs.length === 3 && agent.connection.legs.length === 3)
  openStream(gateway.legs[1]!)
  await agent.connection.session(60_000)
  assert.equal(gateway.legs.length, 3)
  const sent = gateway.auths.map(
    ({ ClientId, Extra }) => [ClientId, Extra] as [string, Record<string, unknown>],
  )
  const { AgentSessionID: sessionId, Cookie: cookie } = agent.connection.welcome!.Extra
  assert.deepEqual(
    sent.map(([, { AgentSessionID }]) => AgentSessionID),
    [undefined, sessionId, sessionId],
  )
  assert.deepEqual(new Set(sent.map(([, { LegNumber }]) => LegNumber)), new Set([undefined, 1, 2]))
  assert.deepEqual(
    sent.slice(1).map(([clientId, { Cookie }]) => [clientId, Cookie]),
    [1, 2].map(() => [agent.connection.welcome!.ClientId, cookie]),
  )
})

test('a server without legs, and an agent that wants one, keep one connection', async (t) => {
  for (const [maxLegs, legs] of [
    [undefined, 4],
    [4, 1],
  ] as const) {
    const { gateway, agent } = await start(t, maxLegs, legs)

    openStream(gateway.legs[0]!)

    await eventually(() => gateway.legs[0]!.openedCount === 0)
    assert.equal(agent.connection.legs.length, 1)
    assert.equal(gateway.legs.length, 1)
  }
})

test('a lost leg is opened again while the session goes on, whichever it was', async (t) => {
  const { gateway, agent } = await start(t, 2)
  const sessionId = agent.connection.welcome?.Extra.AgentSessionID
  openStream(gateway.legs[0]!)
  await eventually(() => agent.connection.legs.length === 2)

  for (let lost = 0; lost < 2; lost++) {
    gateway.legs[lost]!.destroy()
    await eventually(() => gateway.legs.length === 3 + lost && agent.connection.legs.length === 2)
  }

  assert.equal(agent.connection.status, 'online')
  assert.equal(agent.connection.welcome?.Extra.AgentSessionID, sessionId)
  const session = await agent.connection.session(0)
  assert.match((await session.bind({ Proto: 'https', Opts: { Domain: 'late.test' } })).URL, /late\.test/)
})

test('legs that the server closes come back with the next stream', async (t) => {
  const { gateway, agent } = await start(t, 3)
  openStream(gateway.legs[0]!)
  await eventually(() => agent.connection.legs.length === 3)

  for (const leg of gateway.legs.slice(1)) leg.close(ErrorCode.NoError, 'idle')
  await eventually(() => agent.connection.legs.length === 1)
  openStream(gateway.legs[0]!)

  await eventually(() => openLegs(gateway).length === 3)
  assert.equal(gateway.legs.length, 5)
})

test('a session without any leg left is resumed as a whole, and closing the agent closes all legs', async (t) => {
  const { gateway, agent } = await start(t, 2)
  openStream(gateway.legs[0]!)
  await eventually(() => agent.connection.legs.length === 2)
  const sessionId = agent.connection.welcome?.Extra.AgentSessionID

  for (const leg of gateway.legs) leg.destroy()

  await eventually(() => {
    const { status, welcome } = agent.connection
    return status === 'online' && welcome?.Extra.AgentSessionID !== sessionId
  })
  openStream(gateway.session!)
  await eventually(() => agent.connection.legs.length === 2)
  await agent.close()
  await eventuallyEqual(() => openLegs(gateway).length, 0)
})

const remoteLegs = ({ auths }: TestGateway) =>
  auths.filter(({ Extra }) => (Extra as Record<string, unknown>).Elsewhere === true).length

test('of several workers, one leg reaches another than the first, however often it is dialled', async (t) => {
  const { gateway, agent } = await start(t, 4, 4, 2)
  gateway.attemptsAtHome = 5
  openStream(gateway.legs[0]!)
  await eventually(() => agent.connection.legs.length === 4)
  assert.equal(remoteLegs(gateway), 6)

  const remote = agent.connection.legs.find(({ session }) => session.authResponse.Extra.Elsewhere)!
  remote.session.destroy()
  await eventually(() => remoteLegs(gateway) === 7 && agent.connection.legs.length === 4)
})

test('where no connection reaches another worker, all legs end at the first', async (t) => {
  const { gateway, agent } = await start(t, 2, 2, 2)
  gateway.attemptsAtHome = Number.POSITIVE_INFINITY
  openStream(gateway.legs[0]!)

  await eventually(() => agent.connection.legs.length === 2)
  assert.equal(gateway.legs.length, 2)
})

test('when a node joins, an agent with traffic opens a leg to it', async (t) => {
  const { gateway, agent } = await start(t, 2, 2)
  const joined = await TestGateway.start(t)
  const ConnectAddresses = [gateway, joined].map(({ port }) => ({ ServerAddr: `127.0.0.1:${port}` }))
  const announce = () => gateway.legs[0]!.command(StreamType.ConnectAddresses, { ConnectAddresses })
  await announce()
  assert.equal(agent.connection.legs.length, 1)
  openStream(gateway.legs[0]!)
  await eventually(() => agent.connection.legs.length === 2)
  // The second leg went to the node that had joined before, so a third one has none yet.
  assert.deepEqual([gateway.legs.length, joined.legs.length], [1, 1])
  const third = await TestGateway.start(t)
  ConnectAddresses.push({ ServerAddr: `127.0.0.1:${third.port}` })

  await announce()

  await eventually(() => agent.connection.legs.length === 3)
  assert.deepEqual([gateway.legs.length, joined.legs.length, third.legs.length], [1, 1, 1])
})
