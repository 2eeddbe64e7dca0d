import type { Transform } from 'node:stream'
import { ByteQueue } from '../base/io/byte-queue.ts'

/** Hands a body to a transform, one write at a time: a transform that is busy would keep a list of pieces. */
export class TransformFeed {
  readonly transform: Transform
  readonly #onDrained: () => void
  readonly #buffer = new ByteQueue()
  #busy = false

  /** `onDrained` is called when everything written so far has been taken. */
  constructor(transform: Transform, onDrained: () => void) {
    this.transform = transform
    this.#onDrained = onDrained
  }

  /** Copies the piece, which is only lent. */
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
