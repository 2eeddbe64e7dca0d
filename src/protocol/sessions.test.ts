import assert from 'node:assert/strict'
import { duplexPair } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../test/support/eventually.ts'
import type { ByteStream } from '../base/io/streams/stream.ts'
import { Secret } from '../base/values/secret.ts'
import { type AgentCommand, type AgentSessionOptions, startAgentSession } from './agent-session.ts'
import { protocolError } from './errors.ts'
import { HeartbeatTimeout } from './mux/heartbeat.ts'
import { ProtocolError } from './mux/protocol-error.ts'
import { StreamType } from './mux/stream-type.ts'
import type { ProxyHeader } from './proxy-header.ts'
import { ServedSession, type ServedSessionOptions } from './served-session.ts'
import { Probe } from './testing/probe.ts'

const identity: AgentSessionOptions['identity'] = {
  authtoken: new Secret('a-token'),
  version: '1.0.0',
  userAgent: 'adit/1.0.0',
  clientType: 'adit',
  os: 'linux',
  arch: 'x64',
  commands: { restart: '', stop: '', update: 'Updates are switched off.' },
}

const welcome = { Version: '3', ClientId: 'client-1', Error: '', Extra: { Cookie: 'cookie-1' } }

interface Ends {
  connect(agent?: Partial<AgentSessionOptions>): ReturnType<typeof startAgentSession>
  served: ServedSession
}

function createEnds(t: TestContext, server: Partial<ServedSessionOptions>): Ends {
  const [near, far] = duplexPair()
  const served = new ServedSession(far, {
    onCall: () => welcome,
    onClose() {},
    onInternalError: (error) => assert.fail(error as Error),
    ...server,
  })
  t.after(() => served.destroy())
  return {
    served,
    connect: (agent = {}) =>
      startAgentSession(near, {
        identity,
        onProxy() {},
        onCommand: async () => {},
        onClose() {},
        onInternalError: (error) => assert.fail(error as Error),
        ...agent,
      }),
  }
}

test('an agent authenticates, binds and unbinds', async (t) => {
  const calls: [number, Record<string, unknown>][] = []
  const { connect } = createEnds(t, {
    onCall(type, message) {
      calls.push([type, message])
      if (type === StreamType.Auth) return welcome
      if (type === StreamType.Bind)
        return { Id: 'b1', URL: 'https://a.test', Proto: 'https', Opts: {}, Extra: {} }
      return { Error: '' }
    },
  })

  const agent = await connect()
  const bound = await agent.bind({
    Proto: 'https',
    ForwardsTo: 'http://localhost:80',
    Opts: { Domain: 'a.test' },
  })
  await agent.unbind(bound.Id)

  assert.equal(agent.authResponse.ClientId, 'client-1')
  assert.deepEqual(
    calls.map(([type]) => type),
    [StreamType.Auth, StreamType.Bind, StreamType.Unbind],
  )
  const extra = calls[0]![1].Extra as Record<string, unknown>
  assert.equal(extra.Authtoken, 'a-token')
  assert.equal(extra.HeartbeatInterval, 10_000_000_000)
  assert.deepEqual(calls[2]![1], { Id: 'b1' })
})

test('an error reaches the agent with its sentence and its number', async (t) => {
  const { connect } = createEnds(t, {
    onCall() {
      throw protocolError('token_unknown')
    },
  })

  const failure = await connect().catch((error: unknown) => error)

  assert.ok(failure instanceof ProtocolError)
  assert.equal(failure.code, 'ERR_ADIT_107')
  assert.match(failure.message, /not valid/)
})

test('a proxied stream carries its header, the preamble and both directions', async (t) => {
  const headers: ProxyHeader[] = []
  const upstreams: Probe[] = []
  const { connect, served } = createEnds(t, {})
  await connect({
    onProxy(header, stream) {
      headers.push(header)
      upstreams.push(new Probe(stream))
    },
  })
  const header = { Id: 'b1', ClientAddr: '[::1]:80', Proto: 'https', EdgeType: '0', PassthroughTLS: false }

  const client = new Probe(served.openProxy(header, Buffer.from('PROXY UNKNOWN\r\n')))
  client.stream.write(Buffer.from('GET /'))
  await eventually(() => upstreams.length === 1, 'the proxied stream')
  await upstreams[0]!.until((p) => p.received === 20, 'the client’s bytes')
  upstreams[0]!.stream.write(Buffer.from('200'))
  await client.until((p) => p.received === 3, 'the answer')

  assert.deepEqual(headers, [header])
  assert.equal(upstreams[0]!.bytes.toString(), 'PROXY UNKNOWN\r\nGET /')
  assert.equal(client.bytes.toString(), '200')
})

test('commands reach the agent, and its error comes back', async (t) => {
  const commands: AgentCommand[] = []
  const { connect, served } = createEnds(t, {})
  await connect({
    async onCommand(command) {
      commands.push(command)
      if (command.name === 'update') throw new Error('There is no newer version.')
    },
  })

  await served.command(StreamType.Restart, {})
  await served.command(StreamType.Stop, {})
  const update = served.command(StreamType.Update, { Version: '2', PermitMajorVersion: false })
  await assert.rejects(update, /no newer version/)
  served.stopTunnel('b1', 'ended by an operator', 'ERR_NGROK_334')
  await eventually(() => commands.length === 4, 'the fourth command')

  assert.deepEqual(commands, [
    { name: 'restart' },
    { name: 'stop' },
    { name: 'update', version: '2', permitMajorVersion: false },
    { name: 'stopTunnel', id: 'b1', message: 'ended by an operator', errorCode: 'ERR_ADIT_334' },
  ])
})

test('a command that is never answered fails after its timeout and ends nothing else', async (t) => {
  const { connect, served } = createEnds(t, {})
  await connect({ onCommand: () => new Promise(() => {}) })

  await assert.rejects(served.command(StreamType.Stop, {}, 20), /did not answer within 20 ms/)

  assert.equal(served.closed, false)
})

test('the agent beats at once, before it is authenticated, and measures the latency', async (t) => {
  const latencies: number[] = []
  const { connect } = createEnds(t, { onCall: () => new Promise(() => {}) })

  const connecting = connect({ onLatency: (latency) => latencies.push(latency) }).catch(() => {})
  await eventually(() => latencies.length > 0, 'the first latency')

  assert.ok(latencies[0]! >= 0 && latencies[0]! < 1000)
  void connecting
})

test('a session of a dead server ends after interval and tolerance', async () => {
  const [near, far] = duplexPair()
  far.on('data', () => {})

  const connecting = startAgentSession(near, {
    identity,
    heartbeat: { intervalMs: 40, toleranceMs: 60 },
    onProxy() {},
    onCommand: async () => {},
    onClose() {},
  })
  await assert.rejects(connecting, ({ cause }) => cause instanceof HeartbeatTimeout)
})

test('a session of a silent agent ends on the server within the allowed time', async (t) => {
  const closes: (Error | undefined)[] = []
  const { connect, served } = createEnds(t, { onClose: (error) => closes.push(error) })
  await connect({ heartbeat: { intervalMs: 60_000, toleranceMs: 60_000 } })

  served.authenticated(50, true)
  await eventually(() => closes.length === 1, 'the end of the session')

  assert.ok(closes[0] instanceof HeartbeatTimeout)
})

/** One beat every 10 ms at most: together they take longer than the second of silence that the tests allow. */
const ALLOWED_SILENCE_BEATS = 120

test('beats keep an idle session alive', async (t) => {
  const closes: unknown[] = []
  const latencies: number[] = []
  const { connect, served } = createEnds(t, { onClose: (error) => closes.push(error) })
  const heartbeat = { intervalMs: 10, toleranceMs: 990 }
  await connect({ heartbeat, onLatency: (latency) => latencies.push(latency) })

  served.authenticated(1000, true)
  await eventually(() => latencies.length > ALLOWED_SILENCE_BEATS, 'beats beyond the allowed silence')

  assert.deepEqual(closes, [])
})

test('after a stall of an hour the watchdog restarts its timeout', async (t) => {
  let skew = 0
  let readsAfterStall = 0
  const clock = {
    now: () => 0,
    monotonic: () => {
      if (skew > 0) readsAfterStall += 1
      return performance.now() + skew
    },
  }
  const closes: unknown[] = []
  const { connect, served } = createEnds(t, { clock, onClose: (error) => closes.push(error) })
  await connect({ heartbeat: { intervalMs: 60_000, toleranceMs: 60_000 } })
  served.authenticated(100, true)

  skew = 3_600_000
  await eventually(() => readsAfterStall > 0, 'the first look at the clock')
  const closesAfterStall = closes.length
  await eventually(() => closes.length === 1, 'the second look')

  assert.equal(closesAfterStall, 0)
})

test('a stall as long as the allowed silence ends no session: bytes that arrived meanwhile are read first', async (t) => {
  const closes: unknown[] = []
  let beats = 0
  const { connect, served } = createEnds(t, { onClose: (error) => closes.push(error) })
  await connect({ heartbeat: { intervalMs: 10, toleranceMs: 60_000 }, onLatency: () => beats++ })

  served.authenticated(1000, true)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1050)
  const beatsBefore = beats
  await eventually(() => beats > beatsBefore + ALLOWED_SILENCE_BEATS, 'beats after the stall')

  assert.deepEqual(closes, [])
})

test('a saturated link with a stalled stream does not count as dead', async (t) => {
  const closes: unknown[] = []
  const latencies: number[] = []
  const { connect, served } = createEnds(t, { onClose: (error) => closes.push(error) })
  const chunk = Buffer.alloc(65_536)
  const header = { Id: 'b', ClientAddr: '1.2.3.4:5', Proto: 'tcp', EdgeType: '0', PassthroughTLS: false }
  const flood = (stream: ByteStream) => {
    while (stream.write(chunk));
  }
  let moved = 0
  const pump = (stream: ByteStream) => {
    stream.sink = {
      onData(chunk) {
        moved += chunk.length
        stream.consumed(chunk.length)
      },
      onEnd() {},
      onDrain: () => flood(stream),
      onClose() {},
    }
    flood(stream)
  }
  let streams = 0
  await connect({
    heartbeat: { intervalMs: 10, toleranceMs: 990 },
    onLatency: (latency) => latencies.push(latency),
    // The first stream is never read.
    onProxy: (_header, stream) => void (streams++ === 0 || pump(stream)),
  })
  served.authenticated(1000, true)

  for (let i = 0; i < 9; i++) pump(served.openProxy(header))
  await eventually(
    () => moved > 200_000_000 && latencies.length > ALLOWED_SILENCE_BEATS,
    '200 MB, and beats beyond the allowed silence',
  )

  assert.deepEqual(closes, [])
})
