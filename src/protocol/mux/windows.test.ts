import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { WindowBudget } from '../../base/io/memory/window-budget.ts'
import type { Clock } from '../../base/values/clock.ts'
import { transports } from '../testing/pairs.ts'
import { createWire, frame, uint32 } from '../testing/wire.ts'
import { MAX_WINDOW, WINDOW } from './frame.ts'
import { MuxSession } from './mux-session.ts'
import type { MuxStream } from './mux-stream.ts'

const DATA = 1
const WNDINC = 2
const SYN = 2
const ROUND_TRIP_MS = 50
const STREAM_ID = 3

/** A stream whose peer is the test: what arrives is read when the test says so, at the time that it says. */
async function createReader(t: TestContext, { budget = new WindowBudget(), agreed = true } = {}) {
  let now = 1000
  const clock: Clock = { now: () => now, monotonic: () => now }
  const wire = createWire(t, 'server', false, undefined, clock)
  wire.session.roundTrip.add(ROUND_TRIP_MS)
  if (agreed) wire.session.agreeOnWindows(MAX_WINDOW, budget)
  wire.send(frame(DATA, SYN, STREAM_ID, 0))
  await eventually(() => wire.accepted.length === 1, 'the stream')
  const probe = wire.accepted[0]!
  const stream = probe.stream as MuxStream
  const granted = () =>
    wire.frames
      .filter(({ type, id }) => type === WNDINC && id === STREAM_ID)
      .reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0)
  return {
    wire,
    stream,
    probe,
    /** Fills a window, reads it in quarters over this time, and returns the size of the window that the peer has then. */
    async readWindow(window: number, durationMs: number): Promise<number> {
      const before = granted()
      const due = probe.received + window
      for (let sent = 0; sent < window; sent += 65_536) wire.send(frame(DATA, 0, STREAM_ID, 65_536))
      await eventually(() => probe.received === due, 'all bytes')
      for (let quarter = 0; quarter < 4; quarter++) {
        now += durationMs / 4
        stream.consumed(window / 4)
      }
      // A frame that is written after the grants.
      wire.session.sendReset(99, 0, true)
      const resets = wire.frames.filter(({ id }) => id === 99).length
      await eventually(() => wire.frames.filter(({ id }) => id === 99).length > resets, 'the grants')
      return granted() - before
    },
  }
}

test('a window that is read within a round trip doubles', async (t) => {
  const { readWindow } = await createReader(t)
  // The stream may have been idle before its first window.
  assert.equal(await readWindow(WINDOW, 10), WINDOW)

  assert.equal(await readWindow(WINDOW, ROUND_TRIP_MS), 2 * WINDOW)
  assert.equal(await readWindow(2 * WINDOW, ROUND_TRIP_MS), 4 * WINDOW)
})

test('a window grows no further when its reader takes several round trips for it', async (t) => {
  const { readWindow } = await createReader(t)
  await readWindow(WINDOW, 10)
  await readWindow(WINDOW, ROUND_TRIP_MS)

  assert.equal(await readWindow(2 * WINDOW, 5 * ROUND_TRIP_MS), 2 * WINDOW)
})

test('a window grows although lost packets delay a part of it by two round trips', async (t) => {
  const { readWindow } = await createReader(t)
  await readWindow(WINDOW, 10)

  assert.equal(await readWindow(WINDOW, 3 * ROUND_TRIP_MS), 2 * WINDOW)
})

test('a window keeps its size when one quarter of it is delayed by retransmissions', async (t) => {
  const { readWindow } = await createReader(t)
  await readWindow(WINDOW, 10)
  await readWindow(WINDOW, ROUND_TRIP_MS)

  assert.equal(await readWindow(2 * WINDOW, 12 * ROUND_TRIP_MS), 2 * WINDOW)
})

test('a window never grows beyond what was agreed', async (t) => {
  const { readWindow } = await createReader(t, { budget: new WindowBudget(1024 * MAX_WINDOW) })
  let window = WINDOW
  for (let round = 0; round < 10; round++) window = await readWindow(window, 1)

  assert.ok(window > 8 * WINDOW && window <= MAX_WINDOW, `${window} bytes`)
})

test('a window whose reader slows down shrinks back to its initial size', async (t) => {
  const budget = new WindowBudget()
  const { readWindow } = await createReader(t, { budget })
  const free = budget.free
  await readWindow(WINDOW, 10)
  await readWindow(WINDOW, 10)
  const grown = await readWindow(2 * WINDOW, 10)

  await readWindow(grown, 100 * ROUND_TRIP_MS)

  assert.equal(grown, 4 * WINDOW)
  assert.equal(budget.free, free)
})

const MUCH_UNREAD = 16 * 1024 * 1024

test('a stream holds a quarter of its window back while the process has much unread, and grants it later', async (t) => {
  const budget = new WindowBudget()
  const { readWindow } = await createReader(t, { budget })
  budget.unread.add(MUCH_UNREAD)

  assert.equal(await readWindow(WINDOW, 10), WINDOW * 0.75)
  assert.equal(await readWindow(WINDOW * 0.75, 10), WINDOW * 0.75)
  budget.unread.add(-MUCH_UNREAD)
  assert.ok((await readWindow(WINDOW * 0.75, 10_000)) > WINDOW * 0.75)
})

test('a window whose reader keeps up grows while readers of other streams do not', async (t) => {
  const budget = new WindowBudget()
  const { readWindow } = await createReader(t, { budget })
  budget.unread.add(MUCH_UNREAD)
  await readWindow(WINDOW, 10)

  const granted: number[] = []
  for (let round = 0; round < 4; round++) granted.push(await readWindow(WINDOW * 0.75, ROUND_TRIP_MS))

  assert.ok(Math.max(...granted) >= WINDOW * 1.75, granted.join(', '))
})

test('a closed stream counts as read', async (t) => {
  const budget = new WindowBudget()
  const { wire, stream, probe } = await createReader(t, { budget })
  budget.unread.add(8 * 1024 * 1024 - WINDOW / 2)
  for (let sent = 0; sent < WINDOW; sent += 65_536) wire.send(frame(DATA, 0, STREAM_ID, 65_536))
  await eventually(() => probe.received === WINDOW, 'all bytes')
  assert.ok(budget.unread.heldBack > 0)

  stream.reset()

  assert.equal(budget.unread.heldBack, 0)
})

test('a window stays as it is without an agreement, however fast its reader is', async (t) => {
  const { readWindow } = await createReader(t, { agreed: false })

  for (let round = 0; round < 4; round++) assert.equal(await readWindow(WINDOW, 1), WINDOW)
})

test('with many streams a window grows only once its reader took more than kernel buffers could have', async (t) => {
  const { wire, readWindow } = await createReader(t)
  // 31 others, for each of which 64 KiB have to be consumed.
  for (let id = STREAM_ID + 2; wire.accepted.length < 32; id += 2) {
    const count = wire.accepted.length
    wire.send(frame(DATA, SYN, id, 0))
    await eventually(() => wire.accepted.length > count, 'the stream')
  }

  const granted: number[] = []
  for (let round = 0; round < 9; round++) granted.push(await readWindow(WINDOW, 10))

  assert.deepEqual(granted.slice(0, 7), Array(7).fill(WINDOW))
  assert.ok(granted.slice(7).includes(2 * WINDOW), granted.join(', '))
})

test('a window grows only once the round-trip time is known', async (t) => {
  const wire = createWire(t, 'server')
  let measurements = 0
  wire.session.agreeOnWindows(MAX_WINDOW, new WindowBudget(), () => measurements++)
  wire.send(frame(DATA, SYN, STREAM_ID, 0))
  for (let sent = 0; sent < 20 * WINDOW; sent += 65_536) {
    wire.send(frame(DATA, 0, STREAM_ID, 65_536))
    await eventually(() => (wire.accepted[0]?.received ?? 0) === sent + 65_536, 'the bytes')
  }

  assert.equal(measurements, 1)
  const granted = wire.frames
    .filter(({ type }) => type === WNDINC)
    .map(({ payload }) => payload.readUInt32BE(0))
  assert.ok(granted.reduce((a, b) => a + b) <= 20 * WINDOW)
})

test('a sender takes larger grants after an agreement, up to what was agreed', async (t) => {
  const wire = createWire(t, 'server')
  const agreed = wire.session.agreeOnWindows(4 * WINDOW, new WindowBudget())
  const stream = wire.session.open(Buffer.from('x'))
  const acknowledged = new Promise<void>((resolve) => {
    stream.onAcknowledged = resolve
  })
  wire.send(frame(WNDINC, 0, 2, uint32(0x7fffffff)))
  await acknowledged
  stream.write(Buffer.alloc(8 * WINDOW))
  const sent = () => wire.frames.reduce((sum, { payload }) => sum + payload.length, 0)
  await eventually(() => sent() > 4 * WINDOW, 'all that the window allows')
  wire.session.open(Buffer.from('later'))
  await eventually(() => wire.frames.some(({ payload }) => payload.toString() === 'later'), 'the later frame')

  assert.equal(agreed, 4 * WINDOW)
  assert.ok(sent() <= 4 * WINDOW + 'x'.length + 'later'.length)
})

test('a peer that says nothing, or less than the initial window, agrees to nothing', (t) => {
  const { session } = createWire(t, 'server')

  for (const peerMax of [undefined, null, '16777216', 0, WINDOW])
    assert.equal(session.agreeOnWindows(peerMax, new WindowBudget()), WINDOW)
  assert.equal(session.windowGrowth, undefined)
})

test('shares that are never released leave room for further ones', () => {
  const budget = new WindowBudget(1000)
  const shares = Array.from({ length: 50 }, () => budget.grow(0, 1000))

  assert.equal(shares[0], 250)
  assert.ok(budget.free >= 0)
  assert.ok(shares.every((share, index) => index === 0 || share <= shares[index - 1]!))
})

test('a session takes from the budget of the process, and a closed stream gives back', async (t) => {
  const budget = new WindowBudget(8 * WINDOW)
  const { stream, readWindow } = await createReader(t, { budget })
  await readWindow(WINDOW, 10)
  await readWindow(WINDOW, 10)
  const free = budget.free

  stream.reset()

  assert.equal(free, 7 * WINDOW)
  assert.equal(budget.free, 8 * WINDOW)
})

test('200 readers that read fast and then stop hold no more than the budget, and a fast one keeps its window', async (t) => {
  const budgetBytes = 64 * WINDOW
  const [near, far] = await transports.tcp!(t)
  const readers: Reader[] = []
  const onClose = () => {}
  const onInternalError = (error: unknown) => assert.fail(error as Error)
  const sender = new MuxSession(near, { role: 'client', onStream() {}, onClose, onInternalError })
  const receiver = new MuxSession(far, {
    role: 'server',
    onStream: (stream) => void readers.push(new Reader(stream)),
    onClose,
    onInternalError,
  })
  t.after(() => {
    sender.destroy()
    receiver.destroy()
  })
  sender.agreeOnWindows(MAX_WINDOW, new WindowBudget())
  receiver.agreeOnWindows(MAX_WINDOW, new WindowBudget(budgetBytes))
  receiver.roundTrip.add(60_000)
  const [fast] = await startReaders(1)
  await eventually(() => fast!.received >= 64 * WINDOW, 'a fast reader')

  const stopping = await startReaders(200)
  await eventually(() => stopping.every(({ received }) => received >= 4 * WINDOW), 'fast readers')
  for (const reader of stopping) reader.stopped = true
  await eventually(() => stopping.every(({ held }) => held >= WINDOW / 2), 'stalled readers')
  const before = fast!.received
  await eventually(() => fast!.received - before >= 64 * WINDOW, 'the bytes of the fast reader')

  const held = stopping.reduce((sum, reader) => sum + reader.held, 0)
  assert.ok(held <= 200 * WINDOW + budgetBytes, `${held} bytes`)
  fast!.stopped = true
  await eventually(() => fast!.held >= 1024 * 1024, 'a window of 1 MiB')

  async function startReaders(count: number): Promise<Reader[]> {
    const first = readers.length
    for (let n = 0; n < count; n++) sendWithoutEnd(sender.open(Buffer.from('x')))
    await eventually(() => readers.length === first + count, 'the streams')
    return readers.slice(first)
  }
})

/** Reads a stream until it is stopped, and counts what arrives then. */
class Reader {
  stopped = false
  received = 0
  held = 0

  constructor(stream: MuxStream) {
    stream.sink = {
      onData: (chunk) => {
        this.received += chunk.length
        if (this.stopped) this.held += chunk.length
        else stream.consumed(chunk.length)
      },
      onEnd() {},
      onDrain() {},
      onClose() {},
    }
  }
}

function sendWithoutEnd(stream: MuxStream): void {
  const chunk = Buffer.alloc(WINDOW / 4)
  const send = () => {
    while (!stream.closed && stream.write(chunk));
  }
  stream.sink = { onData() {}, onEnd() {}, onDrain: send, onClose() {} }
  send()
}
