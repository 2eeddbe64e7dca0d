import { Duplex } from 'node:stream'
import type { ByteStream, StreamSink } from './stream.ts'

/** A `ByteStream` as a Node stream, for libraries that want one. Costs more than a sink; not for the hot path. */
export class StreamDuplex extends Duplex implements StreamSink {
  readonly #stream: ByteStream
  #owed = 0
  #written: (() => void) | undefined
  #over = false

  constructor(stream: ByteStream) {
    super({ allowHalfOpen: true })
    this.#stream = stream
    stream.sink = this
  }

  onData(chunk: Buffer): void {
    this.#owed += chunk.length
    if (this.push(Buffer.from(chunk))) this.#grant()
  }

  onEnd(): void {
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
      this.push(null)
      this.onDrain()
    }
  }

  override _read(): void {
    this.#grant()
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

  #grant(): void {
    const owed = this.#owed
    this.#owed = 0
    if (owed > 0 && !this.#over) this.#stream.consumed(owed)
  }
}
