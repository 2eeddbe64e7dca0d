import { Duplex } from 'node:stream'
import type { TimerWheel } from '../memory/timer-wheel.ts'
import { ByteQueue } from './byte-queue.ts'
import { type GuardedStream, StallGuard } from './stall-guard.ts'
import type { ByteStream, StreamSink } from './stream.ts'

/**
 * Adapts a `ByteStream` to a Node stream, for APIs that accept nothing else (HTTP/2, TLS, node:http). Costs more than a
 * sink; not for the hot path. The peer is credited with what the reader has taken. `SocketStream` is the other direction.
 */
export class StreamDuplex extends Duplex implements StreamSink, GuardedStream {
  readonly #stream: ByteStream
  readonly #guard: StallGuard | undefined
  /** Bytes received while the reader was blocked: a list of small chunks would cost many times their size. */
  readonly #buffered = new ByteQueue()
  #uncredited = 0
  #readerBlocked = false
  #writtenBytes = 0
  #writeCallback: (() => void) | undefined
  #streamClosed = false

  /** With a timer wheel, a peer that takes nothing for five minutes is aborted; without one, the layer above has to. */
  constructor(stream: ByteStream, timers?: TimerWheel) {
    // A reader that keeps up gets each chunk at once, whatever the mark; any other is blocked right away.
    super({ allowHalfOpen: true, readableHighWaterMark: 1024 })
    this.#stream = stream
    this.#guard = timers && new StallGuard(timers, this)
    stream.sink = this
  }

  get waiting(): boolean {
    return this.#writeCallback !== undefined
  }

  get progress(): number {
    return this.#writtenBytes
  }

  abort(error: Error): void {
    this.destroy(error)
  }

  onData(chunk: Buffer): void {
    this.#uncredited += chunk.length
    if (this.#readerBlocked) this.#buffered.push(chunk)
    else if (this.push(Buffer.from(chunk))) this.#credit()
    else this.#readerBlocked = true
  }

  onEnd(): void {
    if (this.#buffered.length > 0) this.push(this.#buffered.take())
    this.push(null)
  }

  onDrain(): void {
    const callback = this.#writeCallback
    this.#writeCallback = undefined
    callback?.()
  }

  onClose(error?: Error): void {
    this.#streamClosed = true
    if (error !== undefined) {
      this.destroy(error)
      return
    }
    this.onEnd()
    // A clean close must not truncate what the reader has not taken yet.
    if (this.readableEnded) this.destroy()
    else this.once('end', () => this.destroy())
  }

  /**
   * Node's buffer has room again. It still counts the bytes that are being taken, and nothing says so once they are: to
   * credit only what has left it would leave a peer with an exhausted window waiting for ever.
   */
  override _read(): void {
    this.#readerBlocked = this.#buffered.length > 0 && !this.push(this.#buffered.take())
    if (!this.#readerBlocked) this.#credit()
  }

  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    this.#writtenBytes += chunk.length
    if (this.#streamClosed || this.#stream.write(chunk)) callback()
    else {
      this.#writeCallback = callback
      this.#guard?.watch()
    }
  }

  override _final(done: () => void): void {
    this.#stream.end()
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#guard?.stop()
    // After a clean end of both directions the stream may still be sending; it closes by itself.
    const isClean = error === null && this.writableFinished && this.readableEnded
    if (!this.#streamClosed && !isClean) this.#stream.reset(error ?? undefined)
    done(error)
  }

  #credit(): void {
    const uncredited = this.#uncredited
    this.#uncredited = 0
    if (uncredited > 0 && !this.#streamClosed) this.#stream.consumed(uncredited)
  }
}
