import { Duplex } from 'node:stream'
import { ByteQueue } from './byte-queue.ts'
import type { ByteStream, StreamSink } from './stream.ts'

/** Adapts a `ByteStream` to a Node stream, for libraries that need one. Costs more than a sink; not for the hot path. */
export class StreamDuplex extends Duplex implements StreamSink {
  readonly #stream: ByteStream
  #uncredited = 0
  /** Bytes received while the reader was blocked: a list of small chunks would cost many times their size. */
  readonly #buffered = new ByteQueue()
  #readerBlocked = false
  #writeCallback: (() => void) | undefined
  #streamClosed = false

  constructor(stream: ByteStream) {
    // A reader that keeps up gets each chunk at once, whatever the mark; any other is blocked right away.
    super({ allowHalfOpen: true, readableHighWaterMark: 1024 })
    this.#stream = stream
    stream.sink = this
  }

  onData(chunk: Buffer): void {
    this.#uncredited += chunk.length
    if (this.#readerBlocked) this.#buffered.push(chunk)
    else if (this.push(Buffer.from(chunk))) this.#credit()
    else this.#readerBlocked = true
  }

  onEnd(): void {
    this.#flush()
    this.push(null)
  }

  onDrain(): void {
    const callback = this.#writeCallback
    this.#writeCallback = undefined
    callback?.()
  }

  onClose(error?: Error): void {
    this.#streamClosed = true
    if (error !== undefined) this.destroy(error)
    else {
      this.onEnd()
      this.onDrain()
    }
  }

  override _read(): void {
    this.#readerBlocked = !this.#flush()
    if (!this.#readerBlocked) this.#credit()
  }

  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    if (this.#streamClosed || this.#stream.write(chunk)) callback()
    else this.#writeCallback = callback
  }

  override _final(done: () => void): void {
    this.#stream.end()
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.#streamClosed) {
      this.#stream.end()
      this.#stream.reset(error ?? undefined)
    }
    done(error)
  }

  /** Delivers the buffered bytes. Returns false when the reader is blocked again. */
  #flush(): boolean {
    return this.#buffered.length === 0 || this.push(this.#buffered.take())
  }

  #credit(): void {
    const uncredited = this.#uncredited
    this.#uncredited = 0
    if (uncredited > 0 && !this.#streamClosed) this.#stream.consumed(uncredited)
  }
}
