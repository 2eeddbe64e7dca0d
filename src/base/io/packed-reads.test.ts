import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { packReads } from './packed-reads.ts'

function packed(): Readable {
  const stream = new Readable({ read() {}, highWaterMark: 16 })
  packReads(stream)
  return stream
}

test('small pieces that wait for their reader come out as one', async () => {
  const stream = packed()
  for (const letter of 'waiting') stream.push(Buffer.from(letter))
  const pieces: string[] = []
  stream.on('data', (piece: Buffer) => pieces.push(piece.toString()))
  await once(stream, 'data')

  stream.push(Buffer.from('then'))
  stream.push(null)
  await once(stream, 'end')

  assert.deepEqual(pieces, ['waiting', 'then'])
})

test('a stream says that it is full as it did before, and a pause holds everything back', async () => {
  const stream = packed()
  const room = Array.from({ length: 20 }, () => stream.push(Buffer.from('x')))
  let read = 0
  stream.on('data', (piece: Buffer) => {
    read += piece.length
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

  assert.deepEqual([room[0], room[14], room[15], room[19]], [true, true, false, false])
  assert.equal(first, 20)
  assert.equal(paused, 20)
  assert.equal(read, 20 + 4 + 5000)
})
