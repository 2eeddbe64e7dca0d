import { releasePiece } from './detach-buffer.ts'

/**
 * Output blocks shared by the connections of one process, so that an idle connection owns none and a busy one allocates
 * none. Kept small: what comes back beyond `keep` is given back to the system at once.
 */
export class BufferPool {
  /** The size of a block. */
  readonly blockBytes: number
  readonly #free: Buffer[] = []
  readonly #maxFree: number

  constructor(maxFree: number, blockBytes: number) {
    this.#maxFree = maxFree
    this.blockBytes = blockBytes
  }

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.blockBytes)
  }

  release(block: Buffer): void {
    if (this.#free.length < this.#maxFree) this.#free.push(block)
    else releasePiece(block)
  }
}
