import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { BufferPool } from '../memory/buffer-pool.ts'
import { BlockWriter } from './block-writer.ts'

/** A socket that completes a write only when the test calls `done`. */
function startSocket() {
  const writes: { text: string; done: (error?: Error) => void }[] = []
  const socket = new Writable({
    write(chunk: Buffer, _encoding, done) {
      writes.push({ text: chunk.toString(), done })
    },
    writev(chunks, done) {
      writes.push({ text: chunks.map(({ chunk }) => String(chunk)).join('+'), done })
    },
  })
  socket.on('error', () => {})
  return { socket, writes }
}

function startWriter() {
  const { socket, writes } = startSocket()
  const pool = new BufferPool(8, 100)
  const written: number[] = []
  const writer = new BlockWriter(socket, pool, (bytes) => written.push(bytes))
  const write = (text: string) => {
    const block = pool.acquire()
    writer.write(block, block.write(text))
    return block
  }
  /** Completes the write in flight. */
  const complete = async (error?: Error) => {
    writes.at(-1)!.done(error)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { socket, writes, writer, pool, written, write, complete }
}

const textsOf = (writes: readonly { text: string }[]) => writes.map(({ text }) => text)

test('blocks are written one at a time and return to the pool', async () => {
  const { writes, writer, pool, written, write, complete } = startWriter()

  const first = write('one')
  write('two')
  write('three')
  assert.deepEqual(textsOf(writes), ['one'])
  assert.deepEqual([writer.busy, writer.queuedBytes], [true, 8])
  await complete()
  assert.deepEqual(textsOf(writes), ['one', 'two'])
  assert.equal(pool.acquire(), first)
  await complete()
  await complete()

  assert.deepEqual(textsOf(writes), ['one', 'two', 'three'])
  assert.deepEqual(written, [3, 3, 5])
  assert.deepEqual([writer.busy, writer.queuedBytes], [false, 0])
})

test('finish writes everything that is queued, in order', async () => {
  const { socket, writes, writer, write, complete } = startWriter()

  write('one')
  write('two')
  writer.finish()
  write('three')
  socket.end()
  await complete()
  await complete()

  assert.deepEqual(textsOf(writes), ['one', 'two+three'])
  assert.equal(writer.queuedBytes, 0)
  assert.ok(socket.writableFinished)
})

test('a block whose write failed is not reused', async () => {
  const { pool, written, write, complete } = startWriter()

  const block = write('one')
  await complete(new Error('broken'))

  assert.notEqual(pool.acquire(), block)
  assert.deepEqual(written, [])
})
