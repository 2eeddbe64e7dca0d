import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { systemClock } from '../../base/values/clock.ts'
import { Secret } from '../../base/values/secret.ts'
import { ProtocolError, protocolError, StreamType } from '../../protocol/index.ts'
import { createRecordingLog, testSettings } from '../testing/agent.ts'
import { TestGateway } from '../testing/gateway.ts'
import { ServerConnection } from './connection.ts'
import { UntrustedServer } from './dial.ts'
import type { ServerLocation } from './location.ts'

/** A connection that tries these addresses in this order, without delays. */
function startConnection(t: TestContext, locations: readonly ServerLocation[]) {
  const { dial, heartbeat, legs } = testSettings(new TestGateway())
  const { log, lines } = createRecordingLog()
  const connection = new ServerConnection({
    ...{ dial, heartbeat, legs, log, clock: systemClock },
    location: locations[0]!,
    relocate: () => locations,
    identity: {
      ...{ version: '1', userAgent: 'adit/1', clientType: 'adit', os: 'linux', arch: 'x64' },
      commands: { restart: '', stop: '', update: '' },
    },
    onProxy: (_header, stream) => stream.reset(),
    onCommand: async () => {},
    onSession: async () => {},
    onChange() {},
    random: () => 0,
  })
  const ended = connection.run()
  ended.catch(() => {})
  t.after(() => connection.close())
  return { connection, ended, lines }
}

function locationOf(gateway: TestGateway): ServerLocation {
  return { ...testSettings(gateway).location, host: '127.0.0.1' }
}

/** Accepts connections and never responds, like a stopped process whose kernel still accepts. */
async function startFrozen(t: TestContext): Promise<{ port: number; connections: Set<Socket> }> {
  const connections = new Set<Socket>()
  const server = createServer((socket) => {
    connections.add(socket)
    socket.on('error', () => {})
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of connections) socket.destroy()
    server.close()
  })
  return { port: (server.address() as { port: number }).port, connections }
}

test('an agent whose first server is frozen fails over to the next one', async (t) => {
  const gateway = await TestGateway.start(t)
  const frozen = await startFrozen(t)
  const { connection } = startConnection(t, [
    { ...locationOf(gateway), port: frozen.port },
    locationOf(gateway),
  ])

  await connection.session(20_000)

  assert.equal(frozen.connections.size, 1)
  assert.equal(gateway.auths.length, 1)
})

test('an agent whose first server does not answer the authentication fails over to the next one', async (t) => {
  const [first, second] = [await TestGateway.start(t), await TestGateway.start(t)]
  first.authGate = new Promise(() => {})
  const { connection } = startConnection(t, [locationOf(first), locationOf(second)])

  await connection.session(20_000)

  assert.deepEqual([first.auths.length, second.auths.length], [0, 1])
})

test('an agent whose server freezes while it is online fails over to the next one', async (t) => {
  const [first, second] = [await TestGateway.start(t), await TestGateway.start(t)]
  const { connection } = startConnection(t, [locationOf(first), locationOf(second)])
  await connection.session(20_000)

  first.freeze()

  await eventually(() => second.auths.length === 1 && connection.status === 'online')
  assert.equal(first.auths.length, 1)
})

test('a rejected token is permanent: it is not tried at the other addresses', async (t) => {
  const [first, second] = [await TestGateway.start(t), await TestGateway.start(t)]
  const authtoken = new Secret('wrong-secret-token')
  const { ended } = startConnection(
    t,
    [first, second].map((gateway) => ({ ...locationOf(gateway), authtoken })),
  )

  await assert.rejects(ended, (error) => error instanceof ProtocolError && error.number === 107)

  assert.deepEqual([first.auths.length, second.auths.length], [1, 0])
})

test('an agent over the session limit of its account retries all addresses until a session is free', async (t) => {
  const [first, second] = [await TestGateway.start(t), await TestGateway.start(t)]
  first.authError = second.authError = protocolError('too_many_sessions')
  const { connection, lines } = startConnection(t, [locationOf(first), locationOf(second)])
  await eventually(() => first.auths.length >= 2 && second.auths.length >= 1)

  second.authError = undefined
  await connection.session(20_000)

  assert.equal(connection.status, 'online')
  assert.match(lines.join(''), /as many sessions/)
})

test('an untrusted certificate is permanent only when no address has a trusted one', async (t) => {
  const gateway = await TestGateway.start(t)
  const untrusted = { ...locationOf(gateway), cas: undefined }
  const { connection } = startConnection(t, [untrusted, locationOf(gateway)])
  await connection.session(20_000)

  const { ended } = startConnection(t, [untrusted, { ...untrusted, host: 'localhost' }])

  await assert.rejects(ended, UntrustedServer)
})

test('an agent with one configured server learns the addresses of the others from it', async (t) => {
  const [first, second] = [await TestGateway.start(t), await TestGateway.start(t)]
  first.connectAddresses = ['not an address', `127.0.0.1:${first.port}`, `127.0.0.1:${second.port}`]
  const { connection } = startConnection(t, [locationOf(first)])
  await connection.session(20_000)

  first.stop()

  await eventually(() => second.auths.length === 1 && connection.status === 'online')
})

test('an agent that is asked to move starts its next session elsewhere, while the first one still serves', async (t) => {
  const [home, other] = [await TestGateway.start(t), await TestGateway.start(t)]
  const { connection, lines } = startConnection(t, [locationOf(home)])
  await connection.session(60_000)
  const { host, port } = locationOf(other)

  await home.legs[0]!.command(StreamType.Move, { ConnectAddresses: [{ ServerAddr: `${host}:${port}` }] })

  await eventually(() => connection.legs[0]?.location.port === port)
  await connection.session(60_000)
  assert.equal(home.legs[0]!.closed, false)
  assert.equal(connection.status, 'online')
  assert.equal(other.auths.length, 1)
  assert.ok(!JSON.stringify(lines).includes('session closed'))
  connection.close()
  await eventually(() => home.legs[0]!.closed)
})
