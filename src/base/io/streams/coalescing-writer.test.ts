import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { CoalescingWriter } from './coalescing-writer.ts'
import { FlushScheduler } from './flush-scheduler.ts'

/** A socket that completes writes only when the test calls `take`. */
class SlowSocket extends Writable {
  taken: Buffer[] = []
  #next: (() => void)[] = []

  constructor() {
    super({ highWaterMark: 1000, decodeStrings: true })
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.taken.push(Buffer.from(chunk))
    this.#next.push(done)
  }

  /** Completes all writes so far. */
  take(): void {
    for (const done of this.#next.splice(0)) done()
  }
}

test('writes of one event loop iteration leave as one write, in order', async () => {
  const socket = new SlowSocket()
  const writer = new CoalescingWriter(socket, new FlushScheduler())

  writer.writeText('HEAD\r\n')
  writer.write(Buffer.from('body'))
  writer.writeText('tail')
  assert.equal(socket.taken.length, 0)
  await new Promise((resolve) => setImmediate(resolve))

  assert.deepEqual(socket.taken.map(String), ['HEAD\r\nbodytail'])
})

test('the source is credited with what has left, and not a byte more', async () => {
  const socket = new SlowSocket()
  const writer = new CoalescingWriter(socket, new FlushScheduler())
  let credited = 0
  writer.source = {
    consumed(bytes) {
      credited += bytes
    },
  }

  for (let n = 0; n < 3; n++) {
    writer.account(800)
    writer.write(Buffer.alloc(800))
  }
  writer.flush()
  assert.equal(credited, 0)
  assert.equal(writer.congested, true)
  const drained = new Promise<void>((resolve) => {
    writer.onDrain = resolve
  })
  socket.take()
  socket.take()
  socket.take()
  await drained

  assert.equal(credited, 2400)
  assert.equal(writer.pending, 0)
})

test('detaching a source credits everything outstanding', () => {
  const writer = new CoalescingWriter(new SlowSocket(), new FlushScheduler())
  let credited = 0
  writer.source = {
    consumed(bytes) {
      credited += bytes
    },
  }

  writer.account(500)
  writer.write(Buffer.alloc(500))
  writer.creditAll()
  writer.flush()

  assert.equal(credited, 500)
})

test('the end follows everything written, and nothing follows it', async () => {
  const socket = new SlowSocket()
  const writer = new CoalescingWriter(socket, new FlushScheduler())
  const finished = once(socket, 'finish')

  writer.write(Buffer.from('last'))
  writer.end()
  writer.end()
  writer.write(Buffer.from('too late'))
  socket.take()
  await finished

  assert.deepEqual(socket.taken.map(String), ['last'])
})

test('a chunk is copied, so the caller may reuse its memory at once', async () => {
  const socket = new SlowSocket()
  const writer = new CoalescingWriter(socket, new FlushScheduler())
  const [small, large] = [Buffer.from('small'), Buffer.alloc(200_000, 'x')]

  writer.write(small)
  small.fill('!')
  writer.write(large)
  large.fill('!')
  writer.end()
  while (!socket.writableFinished) {
    socket.take()
    await new Promise((resolve) => setImmediate(resolve))
  }

  assert.equal(Buffer.concat(socket.taken).toString(), `small${'x'.repeat(200_000)}`)
})

test('output for a slow socket is packed into blocks, however small the chunks are', async () => {
  const socket = new SlowSocket()
  const writer = new CoalescingWriter(socket, new FlushScheduler())
  const chunks = Array.from({ length: 1000 }, (_, index) => `${index},`)

  for (const chunk of chunks) {
    writer.writeText(chunk)
    writer.flush()
  }
  assert.equal(writer.pending, chunks.join('').length)
  writer.end()
  while (!socket.writableFinished) {
    socket.take()
    await new Promise((resolve) => setImmediate(resolve))
  }

  assert.equal(Buffer.concat(socket.taken).toString(), chunks.join(''))
  assert.ok(socket.taken.length <= 3, `${socket.taken.length} writes`)
})
