import type { StreamSink } from '../base/io/streams/stream.ts'
import type { MuxStream } from '../protocol/index.ts'

/**
 * Sends a peer what was counted here. What comes while the peer still has to receive the last lines is dropped: counts are
 * approximate, and memory is not.
 */
export class CountsSender implements StreamSink {
  readonly #stream: MuxStream
  #isWritable = true

  constructor(stream: MuxStream) {
    this.#stream = stream
    stream.sink = this
  }

  send(lines: Buffer): void {
    if (this.#isWritable) this.#isWritable = this.#stream.write(lines)
  }

  onDrain(): void {
    this.#isWritable = true
  }

  onData(chunk: Buffer): void {
    this.#stream.consumed(chunk.length)
  }

  onEnd(): void {
    this.#stream.end()
  }

  onClose(): void {
    this.#isWritable = false
  }
}
