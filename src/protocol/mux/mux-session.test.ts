import assert from 'node:assert/strict'
import { duplexPair } from 'node:stream'
import { test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { Probe } from '../testing/probe.ts'
import { createWire, frame, uint32 } from '../testing/wire.ts'
import { ErrorCode, MAX_DATA_BYTES, MAX_NOTE_BYTES, type MuxError, WINDOW } from './frame.ts'
import { MuxSession } from './mux-session.ts'

const RST = 0
const DATA = 1
const WNDINC = 2
const GOAWAY = 3
const NOTE = 4
const FIN = 1
const SYN = 2

test('open puts the initial bytes into the SYN frame', async (t) => {
  const wire = createWire(t, 'server')

  wire.session.open(Buffer.from('type and header'))
  await wire.waitForFrames(1)

  assert.deepEqual(wire.frames, [{ type: DATA, flags: SYN, id: 2, payload: Buffer.from('type and header') }])
})

test('a session turns off Nagle’s algorithm, which would delay the frames of a request', () => {
  const [transport] = duplexPair()
  const settings: boolean[] = []
  const setNoDelay = (noDelay: boolean) => settings.push(noDelay)

  new MuxSession(Object.assign(transport, { setNoDelay }), { role: 'server', onStream() {}, onClose() {} })

  assert.deepEqual(settings, [true])
})

test('data leaves in frames of at most 32 KiB', async (t) => {
  const wire = createWire(t, 'server')

  wire.session.open(Buffer.from('x')).write(Buffer.alloc(200_000, 7))
  await eventually(
    () => wire.frames.reduce((sum, { payload }) => sum + payload.length, 0) === 200_001,
    'all bytes',
  )

  assert.ok(wire.frames.every(({ payload }) => payload.length <= MAX_DATA_BYTES))
})

test('everything written in one tick leaves in one write', async (t) => {
  const wire = createWire(t, 'server')
  let writes = 0
  wire.raw.on('data', () => writes++)

  for (let i = 0; i < 20; i++) wire.session.open(Buffer.from('x')).write(Buffer.from('more'))
  await wire.waitForFrames(40)

  assert.equal(writes, 1)
})

test('a caller may reuse its memory as soon as write returns', async (t) => {
  const wire = createWire(t, 'server')
  const stream = wire.session.open(Buffer.from('x'))
  const chunk = Buffer.alloc(WINDOW + 100, 1)

  stream.write(chunk)
  chunk.fill(2)
  wire.send(frame(WNDINC, 0, 2, uint32(1000)))
  await eventually(
    () => wire.frames.reduce((sum, f) => sum + f.payload.length, 0) === WINDOW + 101,
    'all bytes',
  )

  assert.ok(wire.frames.every(({ payload }, index) => index === 0 || payload.every((byte) => byte === 1)))
})

test('grants come in batches of at least 64 KiB and never exceed what was consumed', async (t) => {
  const wire = createWire(t, 'server')
  wire.send(frame(DATA, SYN, 3, 4))
  for (let i = 0; i < 9; i++) wire.send(frame(DATA, 0, 3, 16_384))
  await eventually(() => wire.accepted[0]?.received === 4 + 9 * 16_384, 'all bytes')
  wire.accepted[0]!.stream.consumed(1_000_000)
  await wire.waitForFrames(2)

  const grants = wire.frames
    .filter(({ type }) => type === WNDINC)
    .map(({ payload }) => payload.readUInt32BE(0))
  assert.ok(grants.every((grant) => grant >= 65_536))
  assert.ok(grants.reduce((a, b) => a + b) <= 4 + 9 * 16_384)
})

test('a grant beyond the initial window is ignored', async (t) => {
  const wire = createWire(t, 'server')
  const near = new Probe(wire.session.open(Buffer.from('x')))
  wire.send(frame(WNDINC, 0, 2, uint32(0x7fffffff)))
  await new Promise((resolve) => setImmediate(resolve))

  near.stream.write(Buffer.alloc(WINDOW * 2))
  await eventually(() => wire.frames.reduce((sum, f) => sum + f.payload.length, 0) >= WINDOW, 'one window')
  wire.session.open(Buffer.from('later'))
  await eventually(() => wire.frames.some(({ payload }) => payload.toString() === 'later'), 'the later frame')

  const sent = wire.frames.filter(({ id }) => id === 2).reduce((sum, f) => sum + f.payload.length, 0)
  assert.ok(sent <= WINDOW + 1, `${sent} bytes`)
})

test('a frame beyond the window is answered with RST 3 and ends that stream only', async (t) => {
  const wire = createWire(t, 'server', false)

  wire.send(
    frame(DATA, SYN, 3, 200_000),
    frame(DATA, 0, 3, 100_000),
    frame(DATA, SYN, 5, Buffer.from('still')),
  )
  await wire.waitForFrames(1)

  assert.deepEqual(wire.frames[0], { type: RST, flags: 0, id: 3, payload: uint32(ErrorCode.FlowControl) })
  assert.equal((wire.accepted[0]!.closeError as MuxError).code, ErrorCode.FlowControl)
  assert.equal(wire.accepted[1]!.bytes.toString(), 'still')
})

test('data for an unknown stream is answered with RST 4, an empty FIN with nothing', async (t) => {
  const wire = createWire(t, 'server')

  wire.send(frame(DATA, FIN, 77), frame(WNDINC, 0, 77, uint32(5)), frame(RST, 0, 77, uint32(6)))
  wire.send(frame(DATA, 0, 79, Buffer.from('who?')))
  await wire.waitForFrames(1)

  assert.deepEqual(wire.frames, [{ type: RST, flags: 0, id: 79, payload: uint32(ErrorCode.StreamClosed) }])
  assert.equal(wire.session.closed, false)
})

test('data after FIN is answered with RST 4', async (t) => {
  const wire = createWire(t, 'server')

  wire.send(frame(DATA, SYN | FIN, 3, Buffer.from('all')), frame(DATA, 0, 3, Buffer.from('more')))
  await wire.waitForFrames(1)

  assert.equal(wire.frames[0]!.payload.readUInt32BE(0), ErrorCode.StreamClosed)
  assert.equal(wire.accepted[0]!.bytes.toString(), 'all')
})

test('a stream may open, carry data and end in one frame, and ids need not increase', async (t) => {
  const wire = createWire(t, 'server')

  wire.send(frame(DATA, SYN | FIN, 9, Buffer.from('nine')), frame(DATA, SYN | FIN, 5, Buffer.from('five')))
  await eventually(() => wire.accepted.length === 2 && wire.accepted[1]!.ended, 'both streams')

  assert.deepEqual(
    wire.accepted.map((probe) => probe.bytes.toString()),
    ['nine', 'five'],
  )
})

test('frames split into single bytes are parsed', async (t) => {
  const wire = createWire(t, 'server')
  const bytes = Buffer.concat([
    frame(DATA, SYN, 3, Buffer.from('one')),
    frame(WNDINC, 0, 3, uint32(1)),
    frame(DATA, FIN, 3, Buffer.from('two')),
  ])

  for (const byte of bytes) wire.raw.write(Buffer.from([byte]))
  await eventually(() => wire.accepted[0]?.ended === true, 'the end')

  assert.equal(wire.accepted[0]!.bytes.toString(), 'onetwo')
})

const endings: [what: string, bytes: Buffer, code: number][] = [
  ['an unknown frame type', frame(7, 0, 3, 4), ErrorCode.Protocol],
  ['data on stream 0', frame(DATA, 0, 0, 4), ErrorCode.Protocol],
  ['a reset of stream 0', frame(RST, 0, 0, 4), ErrorCode.Protocol],
  ['a reset of the wrong size', frame(RST, 0, 3, 5), ErrorCode.FrameSize],
  ['a grant of the wrong size', frame(WNDINC, 0, 3, 3), ErrorCode.FrameSize],
  ['a goaway on a stream', frame(GOAWAY, 0, 3, 8), ErrorCode.Protocol],
  ['a SYN with an id of our parity', frame(DATA, SYN, 4, 4), ErrorCode.Protocol],
  [
    'a SYN of a stream already open',
    Buffer.concat([frame(DATA, SYN, 3, 4), frame(DATA, SYN, 3, 4)]),
    ErrorCode.Protocol,
  ],
]

for (const [what, bytes, code] of endings) {
  test(`${what} ends the session with GOAWAY code ${code}`, async (t) => {
    const wire = createWire(t, 'server')

    wire.send(bytes)
    await eventually(() => wire.closes.length === 1, 'the end')
    await eventually(() => wire.frames.some(({ type }) => type === GOAWAY), 'GOAWAY')

    const goaway = wire.frames.find(({ type }) => type === GOAWAY)!
    assert.equal(goaway.payload.readUInt32BE(4), code)
    assert.deepEqual(wire.bugs, [])
  })
}

test('a 16 MiB frame is dropped as it arrives, without buffering', async (t) => {
  const wire = createWire(t, 'server', false)
  const baseline = process.memoryUsage().arrayBuffers
  wire.send(frame(DATA, SYN, 3, 4))
  const header = Buffer.from('ffffff1000000003', 'hex')
  const chunk = Buffer.alloc(65_536)
  let peak = 0

  wire.send(header)
  for (let remaining = 0xffffff; remaining > 0; remaining -= chunk.length) {
    if (!wire.raw.write(remaining < chunk.length ? chunk.subarray(0, remaining) : chunk)) {
      await new Promise((resolve) => wire.raw.once('drain', resolve))
    }
    peak = Math.max(peak, process.memoryUsage().arrayBuffers - baseline)
  }
  wire.send(frame(DATA, SYN | FIN, 5, Buffer.from('after')))
  await eventually(() => wire.accepted[1]?.ended === true, 'the next frame')

  assert.equal(wire.accepted[1]!.bytes.toString(), 'after')
  assert.ok(peak < 4_000_000, `${peak} bytes held`)
})

test('a GOAWAY whose length omits the eight fixed bytes is parsed', async (t) => {
  const wire = createWire(t, 'server')
  const text = Buffer.from('read timeout!')
  const header = Buffer.from('0000000000000000', 'hex')
  header[2] = text.length
  header[3] = 0x30

  wire.send(header, uint32(9), uint32(14), text, Buffer.from('garbage that follows'))
  await eventually(() => wire.closes.length === 1, 'the end')

  assert.equal((wire.closes[0] as MuxError).code, 14)
  assert.match(wire.closes[0]!.message, /read timeout!/)
})

test('an empty GOAWAY still has its eight bytes', async (t) => {
  const wire = createWire(t, 'server')

  wire.send(Buffer.from('0000003000000000', 'hex'), uint32(4), uint32(0))
  await eventually(() => wire.closes.length === 1, 'the end')

  assert.equal((wire.closes[0] as MuxError).code, ErrorCode.RemoteGone)
})

test('close sends GOAWAY with the last stream, the code and the reason, then closes the connection', async (t) => {
  const wire = createWire(t, 'server')
  wire.send(frame(DATA, SYN, 41, 4))
  await eventually(() => wire.accepted.length === 1, 'the stream')
  const closed = new Promise((resolve) => wire.raw.once('end', resolve))

  wire.session.close(ErrorCode.NoError, 'no error')
  await closed

  const last = wire.frames.at(-1)!
  assert.deepEqual(last, {
    type: GOAWAY,
    flags: 0,
    id: 0,
    payload: Buffer.concat([uint32(41), uint32(0), Buffer.from('no error')]),
  })
})

const NUDGE = { type: DATA, flags: FIN, id: 0x7ffffffe, payload: Buffer.alloc(0) }

test('bytes that need no response are answered with a nudge', async (t) => {
  const wire = createWire(t, 'server')
  wire.session.nudges = true

  wire.send(frame(DATA, SYN, 3, 8))
  await wire.waitForFrames(1)

  assert.deepEqual(wire.frames, [NUDGE])
})

test('no nudge is sent in a tick that sends other frames, nor when nudges are off', async (t) => {
  const responding = createWire(t, 'server')
  responding.session.nudges = true
  const silent = createWire(t, 'client')

  responding.send(frame(DATA, 0, 99, 8))
  silent.send(frame(DATA, SYN, 2, 8))
  await responding.waitForFrames(1)
  await eventually(() => silent.accepted.length === 1, 'the stream')
  await new Promise((resolve) => setImmediate(resolve))

  assert.deepEqual(
    responding.frames.map(({ type }) => type),
    [RST],
  )
  assert.deepEqual(silent.frames, [])
})

test('writing after end or reset sends nothing', async (t) => {
  const wire = createWire(t, 'server')
  const ended = wire.session.open(Buffer.from('a'))
  const reset = wire.session.open(Buffer.from('b'))

  ended.end()
  reset.reset()
  const accepted = [ended.write(Buffer.from('x')), reset.write(Buffer.from('x'))]
  reset.end()
  reset.reset()
  wire.session.open(Buffer.from('last'))
  await wire.waitForFrames(5)

  assert.deepEqual(accepted, [false, false])
  assert.deepEqual(
    wire.frames.map(({ type, flags, id }) => [type, flags, id]),
    [
      [DATA, SYN, 2],
      [DATA, SYN, 4],
      [RST, 0, 4],
      [DATA, SYN, 6],
      [DATA, FIN, 2],
    ],
  )
})

test('end followed at once by reset is a reset, unless the peer needs FIN first', async (t) => {
  const plain = createWire(t, 'server')
  const careful = createWire(t, 'server')
  careful.session.finBeforeReset = true

  for (const { session } of [plain, careful]) {
    const stream = session.open(Buffer.from('a'))
    stream.end()
    stream.reset()
  }
  await plain.waitForFrames(2)
  await careful.waitForFrames(3)

  assert.deepEqual(
    plain.frames.map(({ type, flags }) => [type, flags]),
    [
      [DATA, SYN],
      [RST, 0],
    ],
  )
  assert.deepEqual(
    careful.frames.map(({ type, flags }) => [type, flags]),
    [
      [DATA, SYN],
      [DATA, FIN],
      [RST, 0],
    ],
  )
})

test('FIN waits for data that is blocked on the window', async (t) => {
  const wire = createWire(t, 'server')
  const stream = wire.session.open(Buffer.from('x'))
  stream.write(Buffer.alloc(WINDOW + 10))
  stream.end()
  await eventually(() => wire.frames.reduce((sum, f) => sum + f.payload.length, 0) === WINDOW, 'one window')
  const finSentEarly = wire.frames.some(({ flags }) => flags === FIN)

  wire.send(frame(WNDINC, 0, 2, uint32(11)))
  await eventually(() => wire.frames.some(({ flags }) => flags === FIN), 'FIN')

  assert.equal(finSentEarly, false)
  assert.equal(
    wire.frames.reduce((sum, f) => sum + f.payload.length, 0),
    WINDOW + 11,
  )
})

test('a peer that causes responses and never reads is disconnected', async (t) => {
  const wire = createWire(t, 'server')
  wire.raw.pause()
  const asking = Buffer.concat(Array.from({ length: 5000 }, () => frame(DATA, 0, 99, 1)))

  for (let i = 0; i < 60 && wire.closes.length === 0; i++) {
    wire.raw.write(asking)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await eventually(() => wire.closes.length === 1, 'the end')

  assert.equal((wire.closes[0] as MuxError).code, ErrorCode.EnhanceYourCalm)
})

test('notes pass beside the bytes of a stream, to a peer that reads them', async (t) => {
  const wire = createWire(t, 'server')
  const stream = wire.session.open(Buffer.from('x'))
  stream.sendNote(Buffer.from('to a peer that knows no notes'))
  wire.session.sendsNotes = true

  stream.sendNote(Buffer.from('a fact'))
  stream.sendNote(Buffer.alloc(MAX_NOTE_BYTES + 1))
  stream.write(Buffer.alloc(2 * WINDOW))
  stream.sendNote(Buffer.from('while the window is empty'))
  await eventually(() => wire.frames.at(-1)?.type === NOTE && wire.frames.length > 3, 'the second note')

  const notes = wire.frames.filter(({ type }) => type === NOTE)
  assert.deepEqual(
    notes.map(({ id, payload }) => `${id} ${payload}`),
    ['2 a fact', '2 while the window is empty'],
  )
})

test('a note reaches its stream whole, and one that was not asked for ends the session', async (t) => {
  const received: string[] = []
  const wire = createWire(t, 'client', true, (stream) => {
    stream.onNote = (payload) => received.push(String(payload))
  })
  wire.session.acceptNotes()
  const note = frame(NOTE, 0, 2, Buffer.from('in two chunks'))
  wire.raw.write(Buffer.concat([frame(DATA, SYN, 2, Buffer.from('x')), note.subarray(0, 12)]))
  wire.raw.write(note.subarray(12))
  wire.raw.write(frame(NOTE, 0, 4, Buffer.from('of no stream')))
  await eventually(() => received.length > 0, 'the note')
  const other = createWire(t, 'client')
  other.raw.write(frame(NOTE, 0, 2, Buffer.from('x')))
  await other.waitForFrames(1)

  assert.deepEqual(received, ['in two chunks'])
  assert.equal(wire.session.closed, false)
  assert.equal(other.frames[0]?.type, GOAWAY)
})
