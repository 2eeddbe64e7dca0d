import { ByteQueue } from '../../base/io/byte-queue.ts'
import { type ByteStream, type StreamSink, silentSink } from '../../base/io/stream.ts'
import { DialError, type UpstreamTarget } from '../backend.ts'
import type { ClientInfo } from '../tunnels.ts'
import { DialledStream } from './dialled-stream.ts'

/** Bytes buffered for a connection whose target is still being dialled, before back-pressure applies. */
const MAX_BUFFERED_BYTES = 64 * 1024

/**
 * A raw connection that moves to the next target when a dial fails. It buffers the client's bytes until one target is
 * connected.
 */
export class FallbackStream implements ByteStream, StreamSink {
  sink: StreamSink = silentSink
  readonly #client: ClientInfo
  readonly #nextTarget: (failedTargets: readonly UpstreamTarget[]) => UpstreamTarget | undefined
  readonly #failedTargets: UpstreamTarget[] = []
  #buffer: ByteQueue | undefined = new ByteQueue()
  #ended = false
  #inner: ByteStream

  constructor(
    client: ClientInfo,
    first: UpstreamTarget,
    failedTargets: readonly UpstreamTarget[],
    nextTarget: (failedTargets: readonly UpstreamTarget[]) => UpstreamTarget | undefined,
  ) {
    this.#client = client
    this.#nextTarget = nextTarget
    this.#failedTargets.push(...failedTargets)
    this.#inner = this.#open(first)
  }

  write(chunk: Buffer): boolean {
    if (this.#buffer === undefined) return this.#inner.write(chunk)
    this.#buffer.push(chunk)
    return this.#buffer.length < MAX_BUFFERED_BYTES
  }

  end(): void {
    this.#ended = true
    if (this.#buffer === undefined) this.#inner.end()
  }

  reset(error?: Error): void {
    this.#buffer = undefined
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
    if (this.#buffer === undefined || !(error instanceof DialError) || !this.#tryNextTarget())
      this.sink.onClose(error)
  }

  #open(target: UpstreamTarget): ByteStream {
    this.#failedTargets.push(target)
    const stream = target.open(this.#client)
    stream.sink = this
    if (stream instanceof DialledStream) stream.onConnected = () => this.#flushBuffer()
    return stream
  }

  /** Opens the next target; false when none is left. */
  #tryNextTarget(): boolean {
    for (;;) {
      const target = this.#nextTarget(this.#failedTargets)
      if (target === undefined) return false
      try {
        this.#inner = this.#open(target)
      } catch {
        // The target went offline after it was picked; it counts as failed.
        continue
      }
      if (!(this.#inner instanceof DialledStream)) this.#flushBuffer()
      return true
    }
  }

  #flushBuffer(): void {
    const bytes = this.#buffer?.take()
    this.#buffer = undefined
    const writable = bytes === undefined || bytes.length === 0 || this.#inner.write(bytes)
    if (this.#ended) this.#inner.end()
    else if (writable) this.sink.onDrain()
  }
}
