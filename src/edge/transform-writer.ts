import type { Transform } from 'node:stream'
import { ByteQueue } from '../base/io/byte-queue.ts'

/** Hands a body to a transform, one write at a time: a transform that is busy would keep a list of pieces. */
export class TransformFeed {
  readonly transform: Transform
  readonly #onTaken: () => void
  readonly #held = new ByteQueue()
  #busy = false

  /** `onTaken` is called when everything written so far has been taken. */
  constructor(transform: Transform, onTaken: () => void) {
    this.transform = transform
    this.#onTaken = onTaken
  }

  /** Copies the piece, which is only lent. */
  write(piece: Buffer): void {
    this.#held.push(piece)
    if (!this.#busy) this.#next()
  }

  end(): void {
    this.transform.end(this.#held.take())
  }

  #next(): void {
    this.#busy = true
    this.transform.write(this.#held.take(), (error) => {
      if (error) return
      this.#busy = false
      if (this.#held.length > 0) this.#next()
      else this.#onTaken()
    })
  }
}
