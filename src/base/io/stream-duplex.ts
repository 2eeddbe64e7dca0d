import { Duplex } from 'node:stream'
import { ByteQueue } from './byte-queue.ts'
import type { ByteStream, StreamSink } from './stream.ts'

/** A `ByteStream` as a Node stream, for libraries that want one. Costs more than a sink; not for the hot path. */
export class StreamDuplex extends Duplex implements StreamSink {
  readonly #stream: ByteStream
  #owed = 0
  /** What came while the reader was behind: a list of small pieces would cost many times their size. */
  readonly #held = new ByteQueue()
  #behind = false
  #written: (() => void) | undefined
  #over = false

  constructor(stream: ByteStream) {
    // A reader that keeps up is handed each piece at once, whatever the mark; one that does not is behind right away.
    super({ allowHalfOpen: true, readableHighWaterMark: 1024 })
    this.#stream = stream
    stream.sink = this
  }

  onData(chunk: Buffer): void {
    this.#owed += chunk.length
    if (this.#behind) this.#held.push(chunk)
    else if (this.push(Buffer.from(chunk))) this.#grant()
    else this.#behind = true
  }

  onEnd(): void {
    this.#flush()
    this.push(null)
  }

  onDrain(): void {
    const written = this.#written
    this.#written = undefined
    written?.()
  }

  onClose(error?: Error): void {
    this.#over = true
    if (error !== undefined) this.destroy(error)
    else {
      this.onEnd()
      this.onDrain()
    }
  }

  override _read(): void {
    this.#behind = !this.#flush()
    if (!this.#behind) this.#grant()
  }

  override _write(chunk: Buffer, _encoding: string, written: () => void): void {
    if (this.#over || this.#stream.write(chunk)) written()
    else this.#written = written
  }

  override _final(done: () => void): void {
    this.#stream.end()
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.#over) {
      this.#stream.end()
      this.#stream.reset(error ?? undefined)
    }
    done(error)
  }

  /** Hands over what was held; false when the reader is behind again. */
  #flush(): boolean {
    return this.#held.length === 0 || this.push(this.#held.take())
  }

  #grant(): void {
    const owed = this.#owed
    this.#owed = 0
    if (owed > 0 && !this.#over) this.#stream.consumed(owed)
  }
}
