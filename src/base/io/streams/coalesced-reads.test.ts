import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { coalescePausedReads } from './coalesced-reads.ts'

function createPackedStream(): Readable {
  const stream = new Readable({ read() {}, highWaterMark: 16 })
  coalescePausedReads(stream)
  return stream
}

test('small chunks that wait for their reader come out as one', async () => {
  const stream = createPackedStream()
  for (const letter of 'waiting') stream.push(Buffer.from(letter))
  const chunks: string[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk.toString()))
  await once(stream, 'data')

  stream.push(Buffer.from('then'))
  stream.push(null)
  await once(stream, 'end')

  assert.deepEqual(chunks, ['waiting', 'then'])
})

test('a packed stream still signals back-pressure, and a pause holds everything back', async () => {
  const stream = createPackedStream()
  const hasRoom = Array.from({ length: 20 }, () => stream.push(Buffer.from('x')))
  let read = 0
  stream.on('data', (chunk: Buffer) => {
    read += chunk.length
  })
  await once(stream, 'resume')
  await new Promise((resolve) => setImmediate(resolve))
  const first = read
  stream.pause()
  stream.push(Buffer.from('more'))
  stream.push(Buffer.alloc(5000, 'l'))
  stream.push(null)
  const paused = read
  stream.resume()
  await once(stream, 'end')

  assert.deepEqual([hasRoom[0], hasRoom[14], hasRoom[15], hasRoom[19]], [true, true, false, false])
  assert.equal(first, 20)
  assert.equal(paused, 20)
  assert.equal(read, 20 + 4 + 5000)
})
