import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ByteStream, type StreamSink, silentSink } from './stream.ts'
import { Joined } from './stream-relay.ts'

/** A stream that notes what is done to it. */
class Noted implements ByteStream {
  sink: StreamSink = silentSink
  written: string[] = []
  taken = 0
  ended = false
  broken: Error | undefined
  hasRoom = true

  write(chunk: Buffer): boolean {
    this.written.push(chunk.toString())
    return this.hasRoom
  }

  end(): void {
    this.ended = true
  }

  reset(error?: Error): void {
    this.broken = error
  }

  consumed(bytes: number): void {
    this.taken += bytes
  }
}

function joined() {
  const [one, other] = [new Noted(), new Noted()]
  const state = { over: false }
  const streams = new Joined(one, other, () => {
    state.over = true
  })
  return { one, other, state, streams }
}

test('what comes out of one stream goes into the other, both ways, with its end', () => {
  const { one, other } = joined()

  one.sink.onData(Buffer.from('there'))
  other.sink.onData(Buffer.from('back'))
  one.sink.onEnd()

  assert.deepEqual([one.written, other.written], [['back'], ['there']])
  assert.deepEqual([one.taken, other.taken], [5, 4])
  assert.deepEqual([one.ended, other.ended], [false, true])
})

test('bytes that the other side has no room for are not counted as taken until it has', () => {
  const { one, other } = joined()
  other.hasRoom = false

  one.sink.onData(Buffer.from('waits'))
  const before = one.taken
  other.sink.onDrain()

  assert.deepEqual([before, one.taken], [0, 5])
})

test('it is known who spoke last', () => {
  const { one, other, streams } = joined()

  one.sink.onData(Buffer.from('question'))
  const between = streams.asked
  other.sink.onData(Buffer.from('answer'))

  assert.deepEqual([between, streams.asked, streams.pieces], [true, false, 2])
})

test('it is over when both are', () => {
  const { one, other, state } = joined()

  one.sink.onClose()
  const between = state.over
  other.sink.onClose()

  assert.deepEqual([between, state.over], [false, true])
})

test('a break on one side breaks the other', () => {
  const { one, other } = joined()
  const error = new Error('gone')

  one.sink.onClose(error)

  assert.equal(other.broken, error)
})

test('what still comes for a side that is over is dropped, and holds up nobody', () => {
  const { one, other } = joined()
  other.hasRoom = false
  one.sink.onData(Buffer.from('first'))

  other.sink.onClose()
  one.sink.onData(Buffer.from('second'))

  assert.equal(one.taken, 11)
  assert.deepEqual(other.written, ['first'])
})
