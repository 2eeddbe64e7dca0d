import { detachBuffer } from './detach-buffer.ts'

/**
 * Output blocks shared by the connections of a process: an idle connection owns none, a busy one allocates none. Holds at
 * most `maxFree` free blocks; releasing one more frees its memory immediately.
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

  acquire(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.blockBytes)
  }

  release(block: Buffer): void {
    if (this.#free.length < this.#maxFree) this.#free.push(block)
    else detachBuffer(block)
  }
}
