import { type ByteStream, type StreamSink, silentSink } from './stream.ts'

/** A stream that wraps another one; subclasses override what they change. */
export class StreamLayer implements ByteStream, StreamSink {
  sink: StreamSink = silentSink
  protected readonly inner: ByteStream

  constructor(inner: ByteStream) {
    this.inner = inner
    inner.sink = this
  }

  write(chunk: Buffer): boolean {
    return this.inner.write(chunk)
  }

  end(): void {
    this.inner.end()
  }

  reset(error?: Error): void {
    this.inner.reset(error)
  }

  consumed(bytes: number): void {
    this.inner.consumed(bytes)
  }

  set onNote(listener: ((payload: Buffer) => void) | undefined) {
    this.inner.onNote = listener
  }

  onData(chunk: Buffer): void {
    this.sink.onData(chunk)
  }

  onEnd(): void {
    this.sink.onEnd()
  }

  onDrain(): void {
    this.sink.onDrain()
  }

  onClose(error?: Error): void {
    this.sink.onClose(error)
  }
}
