import { ByteQueue } from '../../base/io/byte-queue.ts'
import { type ByteStream, type StreamSink, silentSink } from '../../base/io/stream.ts'
import { DialFailed, type Target } from '../backend.ts'
import type { Visitor } from '../tunnels.ts'
import { DialledStream } from './dialled-stream.ts'

/** What is kept of a visitor whose target is being dialled before it is asked to stop. */
const MAX_KEPT = 64 * 1024

/**
 * A raw connection that goes on to the next target when one cannot be dialled. Until one is connected, what the visitor
 * sends is kept here alone.
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
    if (this.#kept === undefined) return this.#inner.write(chunk)
    this.#kept.push(chunk)
    return this.#kept.length < MAX_KEPT
  }

  end(): void {
    this.#ended = true
    if (this.#kept === undefined) this.#inner.end()
  }

  reset(error?: Error): void {
    this.#kept = undefined
    this.#inner.reset(error)
  }

  consumed(bytes: number): void {
    this.#inner.consumed(bytes)
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
    if (this.#kept === undefined || !(error instanceof DialFailed) || !this.#goOn()) this.sink.onClose(error)
  }

  #open(target: Target): ByteStream {
    this.#tried.push(target)
    const stream = target.open(this.#visitor)
    stream.sink = this
    if (stream instanceof DialledStream) stream.onConnected = () => this.#connected()
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
      if (!(this.#inner instanceof DialledStream)) this.#connected()
      return true
    }
  }

  #connected(): void {
    const kept = this.#kept?.take()
    this.#kept = undefined
    const room = kept === undefined || kept.length === 0 || this.#inner.write(kept)
    if (this.#ended) this.#inner.end()
    else if (room) this.sink.onDrain()
  }
}
