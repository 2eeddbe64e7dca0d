import { eventually } from '../../../test/support/eventually.ts'
import type { ByteStream, StreamSink } from '../../base/io/streams/stream.ts'

/** A sink that records its calls and lets a test wait for them. */
export class Probe implements StreamSink {
  readonly stream: ByteStream
  readonly chunks: Buffer[] = []
  received = 0
  ended = false
  drains = 0
  closed = false
  closeError: Error | undefined
  readonly #consume: boolean

  constructor(stream: ByteStream, consume = true) {
    this.stream = stream
    this.#consume = consume
    stream.sink = this
  }

  get bytes(): Buffer {
    return Buffer.concat(this.chunks)
  }

  onData(chunk: Buffer): void {
    // Copied, because the contract lets the transport reuse its block after this call.
    this.chunks.push(Buffer.from(chunk))
    this.received += chunk.length
    if (this.#consume) this.stream.consumed(chunk.length)
  }

  onEnd(): void {
    this.ended = true
  }

  onDrain(): void {
    this.drains++
  }

  onClose(error?: Error): void {
    this.closed = true
    this.closeError = error
  }

  /** Resolves once the condition holds; rejects at the deadline. */
  async until(condition: (probe: this) => boolean, description: string): Promise<void> {
    await eventually(() => condition(this), description)
  }
}
