import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DeferredStream } from './deferred-stream.ts'
import { type ByteStream, silentSink } from './stream.ts'

class TestStream extends DeferredStream {
  protected override reopen(): boolean {
    return true
  }
  protected override cancel(): void {}
}

/** An inner stream that records what it is given. */
class RecordingStream implements ByteStream {
  sink = silentSink
  takesNotes = true
  readonly record: string[] = []
  write(chunk: Buffer): boolean {
    this.record.push(`bytes ${chunk}`)
    return true
  }
  sendNote(payload: Buffer): void {
    this.record.push(`note ${payload}`)
  }
  end(): void {}
  reset(): void {}
  consumed(): void {}
}

test('bytes and notes wait for the inner stream', () => {
  const stream = new TestStream(false)
  const inner = new RecordingStream()
  assert.equal(stream.takesNotes, true)
  stream.write(Buffer.from('early'))
  stream.sendNote(Buffer.from('early'))

  stream.attach(inner)
  stream.write(Buffer.from('late'))
  stream.sendNote(Buffer.from('late'))

  assert.deepEqual(inner.record, ['note early', 'bytes early', 'bytes late', 'note late'])
})

test('bytes and notes are sent again when the inner stream is replaced before it is confirmed', () => {
  const stream = new TestStream(true)
  const [rejected, accepted] = [new RecordingStream(), new RecordingStream()]
  stream.attach(rejected)
  stream.write(Buffer.from('hello'))
  stream.sendNote(Buffer.from('hello'))
  stream.onClose(new Error('rejected'))

  stream.attach(accepted)
  stream.confirm()

  assert.deepEqual(accepted.record, ['note hello', 'bytes hello'])
})

test('an open stream takes notes if its inner stream does', () => {
  const stream = new TestStream(false)

  stream.attach(Object.assign(new RecordingStream(), { takesNotes: false }))

  assert.equal(stream.takesNotes, false)
})
