import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { ErrorCode, MuxError, type MuxStream } from '../../protocol/index.ts'
import { Probe } from '../../protocol/testing/probe.ts'
import { agentIdentity, type Platform, startPlatform } from '../testing/platform.ts'
import { type ClientInfo, type Tunnel, TunnelBusy } from '../tunnel.ts'

const client: ClientInfo = {
  clientAddress: '192.0.2.1:5',
  serverAddress: '192.0.2.9:443',
  proto: 'https',
  via: 'endpoint',
  passthroughTls: false,
}

const RUST = 'ngrok-javascript/1.7.0 ngrok-rust/0.18.0'
const GO = 'ngrok-go/2.1.1'

interface Setup {
  platform: Platform
  tunnel: Tunnel
  /** Streams received by the agent. */
  atAgent: Probe[]
}

async function startTunnel(
  t: TestContext,
  userAgent: string,
  onStream: (stream: MuxStream, atAgent: Probe[]) => void = (stream, atAgent) =>
    atAgent.push(new Probe(stream)),
): Promise<Setup> {
  const platform = await startPlatform(t)
  const atAgent: Probe[] = []
  const agent = await platform.agent(t, {
    identity: agentIdentity({ userAgent }),
    onProxy: (_header, stream) => onStream(stream, atAgent),
  })
  await agent.bind({ Proto: 'https', Opts: { Subdomain: 'a' } })
  return { platform, tunnel: platform.registry.directory.atHost('https', 'a.adit.test')!.current, atAgent }
}

test('an SDK gets at most 500 streams; a bounded number of further clients is queued', async (t) => {
  const { tunnel, atAgent } = await startTunnel(t, RUST)
  // One stream is the heartbeat's, and one may briefly still be the bind's.
  const open = Array.from({ length: 499 }, () => new Probe(tunnel.open(client)))
  await eventually(() => atAgent.length === 499, '499 streams at the agent')
  const queuedProbes = Array.from({ length: 256 }, () => new Probe(tunnel.open(client)))
  assert.throws(() => tunnel.open(client), TunnelBusy)
  queuedProbes[0]!.stream.write(Buffer.from('first in line'))
  queuedProbes[0]!.stream.end()
  queuedProbes[1]!.stream.reset()

  const timers = t.mock.method(globalThis, 'setTimeout')
  open[0]!.stream.reset()
  open[1]!.stream.reset()
  await eventually(() => atAgent.length === 501, 'two more streams at the agent')
  // The SDK's own count lags behind: a stream opened at once would be one too many.
  assert.ok(timers.mock.calls.some(({ arguments: [, delayMs] }) => delayMs === 100))
  const queued = atAgent[499]!
  await queued.until((p) => p.ended, 'the end of the first in line')
  queued.stream.write(Buffer.from('at last'))
  await queuedProbes[0]!.until((p) => p.received === 7, 'the answer')

  assert.equal(queued.bytes.toString(), 'first in line')
  assert.equal(queuedProbes[0]!.bytes.toString(), 'at last')
  assert.equal(queuedProbes[1]!.closed, true)
  assert.equal(queuedProbes.filter((p) => p.closed).length, 1)
})

test('the adit agent gets more streams than the SDKs', async (t) => {
  const { tunnel, atAgent } = await startTunnel(t, 'adit/0.1.0')

  for (let i = 0; i < 1200; i++) tunnel.open(client)
  await eventually(() => atAgent.length === 1200, '1200 streams')

  assert.equal(atAgent.length, 1200)
})

test('queued streams fail when the session ends', async (t) => {
  const { platform, tunnel } = await startTunnel(t, RUST)
  for (let i = 0; i < 500; i++) tunnel.open(client)
  const queuedProbes = new Probe(tunnel.open(client))

  platform.registry.sessionsOf('ac_1')[0]!.end('bye')
  await queuedProbes.until((p) => p.closed, 'the close')

  assert.notEqual(queuedProbes.closeError, undefined)
  assert.throws(() => tunnel.open(client), MuxError)
})

test('an unknown agent has at most 64 unacknowledged opens', async (t) => {
  const { tunnel, atAgent } = await startTunnel(t, GO)
  const probes = Array.from({ length: 150 }, () => new Probe(tunnel.open(client)))
  await eventually(() => atAgent.length === 64, '64 streams')
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(atAgent.length, 64)

  for (const probe of atAgent.slice(0, 10)) (probe.stream as MuxStream).grant()
  await eventually(() => atAgent.length === 74, '74 streams')
  for (const probe of probes.slice(10, 20)) probe.stream.reset()
  await eventually(() => atAgent.length === 84, '84 streams')

  assert.equal(probes.filter((p) => p.closed && p.closeError === undefined).length, 0)
})

test('an agent that acknowledges nothing is paced, not starved', async (t) => {
  const { tunnel, atAgent } = await startTunnel(t, GO)

  for (let i = 0; i < 100; i++) new Probe(tunnel.open(client))
  await eventually(() => atAgent.length === 100, 'all streams', 3000)

  assert.equal(atAgent.length, 100)
})

test('a stream rejected for lack of room is reopened once, with everything written so far', async (t) => {
  let rejections = 0
  const { tunnel, atAgent } = await startTunnel(t, GO, (stream, list) => {
    if (rejections++ < 3) stream.reset(new MuxError(ErrorCode.AcceptQueueFull, 'accept queue full'))
    else list.push(new Probe(stream))
  })

  const near = new Probe(tunnel.open(client))
  near.stream.write(Buffer.from('GET / '))
  await eventually(() => rejections > 0, 'the first rejection')
  near.stream.write(Buffer.from('HTTP/1.1'))
  near.stream.end()
  await eventually(() => atAgent.length === 1, 'the stream that stays')
  await atAgent[0]!.until((p) => p.ended, 'the end of the request')
  atAgent[0]!.stream.write(Buffer.from('200'))
  atAgent[0]!.stream.end()
  await near.until((p) => p.closed, 'the close')

  assert.equal(atAgent[0]!.bytes.toString(), 'GET / HTTP/1.1')
  assert.equal(near.bytes.toString(), '200')
  assert.equal(near.closeError, undefined)
})

test('a stream that is rejected every time ends with an error', async (t) => {
  const { tunnel } = await startTunnel(t, GO, (stream) =>
    stream.reset(new MuxError(ErrorCode.AcceptQueueFull, 'accept queue full')),
  )

  const near = new Probe(tunnel.open(client))
  await near.until((p) => p.closed, 'the close')

  assert.equal((near.closeError as MuxError).code, ErrorCode.AcceptQueueFull)
})

test('a client may send 64 KiB before the agent acknowledges, and the rest afterwards', async (t) => {
  const { tunnel, atAgent } = await startTunnel(t, GO)
  const near = new Probe(tunnel.open(client))
  const chunk = Buffer.alloc(20_000, 5)

  const writable = [1, 2, 3, 4].map(() => near.stream.write(chunk))
  await near.until((p) => p.drains === 1, 'the drain')
  for (let i = 0; i < 20; i++) {
    const { drains } = near
    if (!near.stream.write(chunk)) await near.until((p) => p.drains > drains, 'a drain')
  }
  near.stream.end()
  await atAgent[0]!.until((p) => p.ended, 'the end')

  assert.deepEqual(writable, [true, true, true, false])
  assert.equal(atAgent[0]!.received, 24 * 20_000)
})
