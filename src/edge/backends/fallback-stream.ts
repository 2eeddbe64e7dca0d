import { ByteQueue } from '../../base/byte-queue.ts'
import { type ByteStream, type StreamSink, silentSink } from '../../base/stream.ts'
import { DialFailed, type Target } from '../backend.ts'
import type { Visitor } from '../tunnels.ts'
import { DialledStream } from './dialled-stream.ts'

/**
 * A raw connection that goes on to the next target when one cannot be dialled. Until somebody is there, what the visitor
 * sends is kept: little, since a socket that is not connected soon asks its source to stop.
 */
export class FallbackStream implements ByteStream, StreamSink {
  sink: StreamSink = silentSink
  readonly #visitor: Visitor
  readonly #next: (tried: readonly Target[]) => Target | undefined
  readonly #tried: Target[] = []
  #kept: ByteQueue | undefined = new ByteQueue()
  #ended = false
  #inner: ByteStream

  constructor(
    visitor: Visitor,
    first: Target,
    tried: readonly Target[],
    next: (tried: readonly Target[]) => Target | undefined,
  ) {
    this.#visitor = visitor
    this.#next = next
    this.#tried.push(...tried)
    this.#inner = this.#open(first)
  }

  write(chunk: Buffer): boolean {
    this.#kept?.push(chunk)
    return this.#inner.write(chunk)
  }

  end(): void {
    this.#ended = true
    this.#inner.end()
  }

  reset(error?: Error): void {
    this.#settle()
    this.#inner.reset(error)
  }

  consumed(bytes: number): void {
    this.#inner.consumed(bytes)
  }

  onData(chunk: Buffer): void {
    this.#settle()
    this.sink.onData(chunk)
  }

  onEnd(): void {
    this.sink.onEnd()
  }

  onDrain(): void {
    this.sink.onDrain()
  }

  onClose(error?: Error): void {
    if (this.#kept === undefined || !(error instanceof DialFailed) || !this.#goOn()) this.sink.onClose(error)
  }

  #open(target: Target): ByteStream {
    this.#tried.push(target)
    const stream = target.open(this.#visitor)
    stream.sink = this
    if (stream instanceof DialledStream) stream.onConnected = () => this.#settle()
    return stream
  }

  /** Tries those that are left; false when nobody is. */
  #goOn(): boolean {
    for (;;) {
      const target = this.#next(this.#tried)
      if (target === undefined) return false
      try {
        this.#inner = this.#open(target)
      } catch {
        // Gone since it was chosen; it counts as tried.
        continue
      }
      if (this.#kept !== undefined && this.#kept.length > 0) this.#inner.write(this.#kept.bytes)
      if (this.#ended) this.#inner.end()
      if (!(this.#inner instanceof DialledStream)) this.#settle()
      // Whoever waited for the first one to take more may go on.
      this.sink.onDrain()
      return true
    }
  }

  /** Somebody is there: what was kept has been sent. */
  #settle(): void {
    this.#kept = undefined
  }
}
