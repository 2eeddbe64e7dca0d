import type { Duplex } from 'node:stream'
import { ByteQueue } from '../../base/io/streams/byte-queue.ts'

/** Writes a body to a transform, one write at a time: a busy transform would queue many small chunks (decision 119). */
export class TransformWriter {
  readonly transform: Duplex
  readonly #onDrained: () => void
  readonly #buffer = new ByteQueue()
  #busy = false

  /** `onDrained` is called when the transform has taken everything written so far. */
  constructor(transform: Duplex, onDrained: () => void) {
    this.transform = transform
    this.#onDrained = onDrained
  }

  /** Copies the chunk, which is lent for this call (decision 96). */
  write(chunk: Buffer): void {
    this.#buffer.push(chunk)
    if (!this.#busy) this.#writeNext()
  }

  end(): void {
    this.transform.end(this.#buffer.take())
  }

  #writeNext(): void {
    this.#busy = true
    this.transform.write(this.#buffer.take(), (error) => {
      if (error) return
      this.#busy = false
      if (this.#buffer.length > 0) this.#writeNext()
      else this.#onDrained()
    })
  }
}
