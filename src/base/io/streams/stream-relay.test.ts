import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ByteStream, type StreamSink, silentSink } from './stream.ts'
import { StreamRelay } from './stream-relay.ts'

/** A stream that records the calls made to it. */
class RecordingStream implements ByteStream {
  sink: StreamSink = silentSink
  written: string[] = []
  credited = 0
  ended = false
  resetError: Error | undefined
  hasRoom = true

  write(chunk: Buffer): boolean {
    this.written.push(chunk.toString())
    return this.hasRoom
  }

  end(): void {
    this.ended = true
  }

  reset(error?: Error): void {
    this.resetError = error
  }

  consumed(bytes: number): void {
    this.credited += bytes
  }
}

function createRelay() {
  const [first, second] = [new RecordingStream(), new RecordingStream()]
  const state = { closed: false }
  const relay = new StreamRelay(first, second, () => {
    state.closed = true
  })
  return { first, second, state, relay }
}

test('chunks and ends pass in both directions', () => {
  const { first, second } = createRelay()

  first.sink.onData(Buffer.from('forward'))
  second.sink.onData(Buffer.from('backward'))
  first.sink.onEnd()

  assert.deepEqual([first.written, second.written], [['backward'], ['forward']])
  assert.deepEqual([first.credited, second.credited], [7, 8])
  assert.deepEqual([first.ended, second.ended], [false, true])
})

test('the source is not credited until the destination has room', () => {
  const { first, second } = createRelay()
  second.hasRoom = false

  first.sink.onData(Buffer.from('waits'))
  const before = first.credited
  second.sink.onDrain()

  assert.deepEqual([before, first.credited], [0, 5])
})

test('the relay knows which side spoke last', () => {
  const { first, second, relay } = createRelay()

  first.sink.onData(Buffer.from('request'))
  const between = relay.awaitingReply
  second.sink.onData(Buffer.from('reply'))

  assert.deepEqual([between, relay.awaitingReply, relay.chunks], [true, false, 2])
})

test('the relay closes when both streams have closed', () => {
  const { first, second, state } = createRelay()

  first.sink.onClose()
  const between = state.closed
  second.sink.onClose()

  assert.deepEqual([between, state.closed], [false, true])
})

test('an error on one side resets the other', () => {
  const { first, second } = createRelay()
  const error = new Error('broken')

  first.sink.onClose(error)

  assert.equal(second.resetError, error)
})

test('bytes for a closed side are dropped and credited', () => {
  const { first, second } = createRelay()
  second.hasRoom = false
  first.sink.onData(Buffer.from('first'))

  second.sink.onClose()
  first.sink.onData(Buffer.from('second'))

  assert.equal(first.credited, 11)
  assert.deepEqual(second.written, ['first'])
})
