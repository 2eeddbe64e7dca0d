/** Bytes of one block. */
export const BLOCK_BYTES = 32_768

/**
 * Pools the memory blocks that store captured bodies. Blocks of evicted captures are reused at once instead of waiting
 * for the garbage collector, so the inspector stays within its memory limit under load.
 */
export class BlockPool {
  readonly #free: Buffer[] = []

  acquire(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES)
  }

  release(blocks: readonly Buffer[]): void {
    this.#free.push(...blocks)
  }

  /** Drops free blocks until those left fit into `maxBytes`. */
  trim(maxBytes: number): void {
    const maxBlocks = Math.max(0, Math.ceil(maxBytes / BLOCK_BYTES))
    if (this.#free.length > maxBlocks) this.#free.length = maxBlocks
  }

  /** Drops all free blocks. */
  clear(): void {
    this.#free.length = 0
  }
}
