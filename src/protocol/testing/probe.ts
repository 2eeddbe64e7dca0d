import type { ByteStream, StreamSink } from '../../base/io/stream.ts'

/** A sink that records its calls and lets a test wait for them. */
export class Probe implements StreamSink {
  readonly stream: ByteStream
  readonly chunks: Buffer[] = []
  received = 0
  ended = false
  drains = 0
  closed = false
  closeError: Error | undefined
  readonly #waiting = new Set<() => void>()
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
    this.#changed()
  }

  onEnd(): void {
    this.ended = true
    this.#changed()
  }

  onDrain(): void {
    this.drains++
    this.#changed()
  }

  onClose(error?: Error): void {
    this.closed = true
    this.closeError = error
    this.#changed()
  }

  /** Resolves once the condition holds; rejects at the deadline. */
  until(condition: (probe: this) => boolean, description: string, deadlineMs = 5000): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`Not within ${deadlineMs} ms: ${description}`)),
        deadlineMs,
      )
      const check = () => {
        if (!condition(this)) return
        clearTimeout(timer)
        this.#waiting.delete(check)
        resolve()
      }
      this.#waiting.add(check)
      check()
    })
  }

  #changed(): void {
    for (const check of this.#waiting) check()
  }
}
