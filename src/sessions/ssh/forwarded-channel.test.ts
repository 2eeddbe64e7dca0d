import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CHANNEL_WINDOW_BYTES, type ChannelTransport, ForwardedChannel } from './forwarded-channel.ts'

/** A connection that records what it sends. */
function createTransport() {
  const sent: string[] = []
  let bytes = 0
  const transport = {
    congested: false as boolean,
    waiting: 0,
    forgotten: 0,
    sent,
    bytes: () => bytes,
    wait() {
      transport.waiting++
    },
    sendData(_peer: number, data: Buffer) {
      bytes += data.length
      sent.push(`data ${data.length}`)
    },
    sendEnd: () => void sent.push('end'),
    sendClose: () => void sent.push('close'),
    sendWindowAdjust: (_peer: number, count: number) => void sent.push(`grant ${count}`),
    remove() {
      transport.forgotten++
    },
  } satisfies ChannelTransport & Record<string, unknown>
  return transport
}

function listen(channel: ForwardedChannel) {
  const events: string[] = []
  channel.sink = {
    onData: (chunk) => events.push(`data ${chunk.length}`),
    onEnd: () => events.push('end'),
    onDrain: () => events.push('drain'),
    onClose: (error) => events.push(error === undefined ? 'close' : `lost: ${error.message}`),
  }
  return events
}

test('bytes written before the channel is open are sent once it is, in packets the client accepts', () => {
  const transport = createTransport()
  const channel = new ForwardedChannel(1, transport)

  const room = channel.write(Buffer.alloc(1000))
  channel.end()
  channel.onOpened(7, 10_000, 400)

  assert.equal(room, true)
  assert.deepEqual(transport.sent, ['data 400', 'data 400', 'data 200', 'end'])
})

test('an SSH client without window blocks the writer after a bounded number of bytes', () => {
  const transport = createTransport()
  const channel = new ForwardedChannel(1, transport)
  const events = listen(channel)
  channel.onOpened(7, 0, 32_768)

  let written = 0
  while (channel.write(Buffer.alloc(16_384))) written += 16_384
  channel.onWindow(1024 * 1024)

  assert.ok(written <= 256 * 1024)
  assert.deepEqual(events, ['drain'])
  assert.equal(transport.bytes(), written + 16_384)
})

test('a channel waits for a congested connection', () => {
  const transport = createTransport()
  const channel = new ForwardedChannel(1, transport)
  channel.onOpened(7, 1024 * 1024, 32_768)
  transport.congested = true

  channel.write(Buffer.alloc(100))
  assert.equal(transport.waiting, 1)
  transport.congested = false
  channel.flush()

  assert.deepEqual(transport.sent, ['data 100'])
})

test('the window grows as bytes are consumed, and data beyond it is rejected', async () => {
  const transport = createTransport()
  const channel = new ForwardedChannel(1, transport)
  const events = listen(channel)
  channel.onOpened(7, 1, 32_768)

  channel.onData(Buffer.alloc(CHANNEL_WINDOW_BYTES))
  channel.consumed(CHANNEL_WINDOW_BYTES / 2)
  channel.onData(Buffer.alloc(CHANNEL_WINDOW_BYTES / 2))
  channel.onData(Buffer.alloc(1))
  await new Promise((resolve) => setImmediate(resolve))

  assert.deepEqual(transport.sent, [`grant ${CHANNEL_WINDOW_BYTES / 2}`, 'close'])
  assert.deepEqual(events.at(-1), 'lost: The SSH client sent more than its window.')
})

test('the buffer of a packet is detached once it has been passed on', () => {
  const channel = new ForwardedChannel(1, createTransport())
  const events = listen(channel)
  channel.onOpened(7, 1, 32_768)
  const packet = Buffer.from(new ArrayBuffer(32_768)).subarray(10, 32_758)
  const shared = Buffer.allocUnsafe(100)

  channel.onData(packet)
  channel.onData(shared)

  assert.deepEqual(events, ['data 32748', 'data 100'])
  assert.deepEqual([packet.length, shared.length], [0, 100])
})

test('each direction ends on its own; the channel closes when both have', () => {
  const transport = createTransport()
  const channel = new ForwardedChannel(1, transport)
  const events = listen(channel)
  channel.onOpened(7, 100, 32_768)

  channel.end()
  channel.onData(Buffer.alloc(5))
  assert.deepEqual(transport.sent, ['end'])
  channel.onEnd()
  assert.deepEqual(transport.sent, ['end', 'close'])
  channel.onClosed()

  assert.deepEqual(events, ['data 5', 'end', 'close'])
  assert.equal(transport.forgotten, 1)
})

test('a channel closed without EOF, rejected or lost reports one error', () => {
  for (const end of ['onClosed', 'onRefused', 'onLost'] as const) {
    const channel = new ForwardedChannel(1, createTransport())
    const events = listen(channel)
    if (end !== 'onRefused') channel.onOpened(7, 100, 32_768)

    if (end === 'onClosed') channel.onClosed()
    else if (end === 'onRefused') channel.onRejected('no')
    else channel.onLost(new Error('gone'))
    channel.onLost(new Error('again'))

    assert.equal(events.length, 1, end)
    assert.match(events[0]!, /^lost: /, end)
  }
})

test('a reset before the open is confirmed closes the channel as soon as it is', async () => {
  const transport = createTransport()
  const channel = new ForwardedChannel(1, transport)
  const events = listen(channel)

  channel.write(Buffer.alloc(10))
  channel.reset()
  await new Promise((resolve) => setImmediate(resolve))
  channel.onOpened(7, 100, 32_768)

  assert.deepEqual(events, ['lost: The connection was reset.'])
  assert.deepEqual(transport.sent, ['close'])
})

test('a reset sends EOF before CLOSE', () => {
  const transport = createTransport()
  const channel = new ForwardedChannel(1, transport)
  channel.onOpened(7, 100, 32_768)

  channel.reset()

  assert.deepEqual(transport.sent, ['end', 'close'])
})
