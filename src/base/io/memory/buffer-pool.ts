import { detachBuffer } from './detach-buffer.ts'

/**
 * Blocks of memory that are used again: by the connections of a process for their output, of which an idle one owns none
 * and a busy one allocates none (decision 96), and by the inspector for captured bodies. A block that the pool does not
 * keep is freed at once, instead of waiting for the garbage collector.
 */
export class BufferPool {
  /** The size of a block. */
  readonly blockBytes: number
  readonly #free: Buffer[] = []
  readonly #maxFree: number

  /** `maxFree` is the number of free blocks to keep. */
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

  /** Frees blocks until the free ones fit into `maxBytes`. */
  trim(maxBytes: number): void {
    while (this.#free.length > 0 && (this.#free.length - 1) * this.blockBytes >= maxBytes)
      detachBuffer(this.acquire())
  }
}
