import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { Out } from './coalescing-writer.ts'
import { Turn } from './flush-scheduler.ts'

/** A socket whose kernel takes bytes only when told to. */
class Slow extends Writable {
  taken: Buffer[] = []
  #next: (() => void)[] = []

  constructor() {
    super({ highWaterMark: 1000, decodeStrings: true })
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.taken.push(Buffer.from(chunk))
    this.#next.push(done)
  }

  /** Lets the writes so far complete. */
  take(): void {
    for (const done of this.#next.splice(0)) done()
  }
}

test('what is written in one turn leaves in one piece, in order', async () => {
  const socket = new Slow()
  const out = new Out(socket, new Turn())

  out.text('HEAD\r\n')
  out.write(Buffer.from('body'))
  out.text('tail')
  assert.equal(socket.taken.length, 0)
  await new Promise((resolve) => setImmediate(resolve))

  assert.deepEqual(socket.taken.map(String), ['HEAD\r\nbodytail'])
})

test('the source is granted what has left and not a byte more', async () => {
  const socket = new Slow()
  const out = new Out(socket, new Turn())
  let granted = 0
  out.source = {
    consumed(bytes) {
      granted += bytes
    },
  }

  for (let n = 0; n < 3; n++) {
    out.owe(800)
    out.write(Buffer.alloc(800))
  }
  out.flush()
  assert.equal(granted, 0)
  assert.equal(out.congested, true)
  const room = new Promise<void>((resolve) => {
    out.onRoom = resolve
  })
  socket.take()
  socket.take()
  socket.take()
  await room

  assert.equal(granted, 2400)
  assert.equal(out.pending, 0)
})

test('letting go of a source settles with it', () => {
  const out = new Out(new Slow(), new Turn())
  let granted = 0
  out.source = {
    consumed(bytes) {
      granted += bytes
    },
  }

  out.owe(500)
  out.write(Buffer.alloc(500))
  out.release()
  out.flush()

  assert.equal(granted, 500)
})

test('the end comes after everything written, and nothing after it', async () => {
  const socket = new Slow()
  const out = new Out(socket, new Turn())
  const finished = once(socket, 'finish')

  out.write(Buffer.from('last'))
  out.end()
  out.end()
  out.write(Buffer.from('too late'))
  socket.take()
  await finished

  assert.deepEqual(socket.taken.map(String), ['last'])
})

test('a piece is copied as it comes: whoever brought it may use its memory again at once', async () => {
  const socket = new Slow()
  const out = new Out(socket, new Turn())
  const [small, large] = [Buffer.from('small'), Buffer.alloc(200_000, 'x')]

  out.write(small)
  small.fill('!')
  out.write(large)
  large.fill('!')
  out.end()
  while (!socket.writableFinished) {
    socket.take()
    await new Promise((resolve) => setImmediate(resolve))
  }

  assert.equal(Buffer.concat(socket.taken).toString(), `small${'x'.repeat(200_000)}`)
})

test('what comes while the socket is behind waits in blocks, however small the pieces are', async () => {
  const socket = new Slow()
  const out = new Out(socket, new Turn())
  const pieces = Array.from({ length: 1000 }, (_, at) => `${at},`)

  for (const piece of pieces) {
    out.text(piece)
    out.flush()
  }
  assert.equal(out.pending, pieces.join('').length)
  out.end()
  while (!socket.writableFinished) {
    socket.take()
    await new Promise((resolve) => setImmediate(resolve))
  }

  assert.equal(Buffer.concat(socket.taken).toString(), pieces.join(''))
  assert.ok(socket.taken.length <= 3, `${socket.taken.length} writes`)
})
