import { releasePiece } from './detach-buffer.ts'

/**
 * Output blocks shared by the connections of one process, so that an idle connection owns none and a busy one allocates
 * none. Kept small: what comes back beyond `keep` is given back to the system at once.
 */
export class BufferPool {
  /** The size of a block. */
  readonly bytes: number
  readonly #free: Buffer[] = []
  readonly #keep: number

  constructor(keep: number, bytes: number) {
    this.#keep = keep
    this.bytes = bytes
  }

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.bytes)
  }

  give(block: Buffer): void {
    if (this.#free.length < this.#keep) this.#free.push(block)
    else releasePiece(block)
  }
}
