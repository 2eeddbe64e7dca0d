/** Bytes of one block. */
export const BLOCK_BYTES = 32_768

/**
 * Blocks of memory that captured bodies are kept in. Evicted ones are used again at once instead of waiting to be
 * collected, so that what the inspector occupies stays within its limit also while much passes through.
 */
export class BlockPool {
  readonly #free: Buffer[] = []

  acquire(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES)
  }

  release(blocks: readonly Buffer[]): void {
    this.#free.push(...blocks)
  }

  /** Lets go of blocks not in use as far as they weigh more than this. */
  trim(maxBytes: number): void {
    const maxBlocks = Math.max(0, Math.ceil(maxBytes / BLOCK_BYTES))
    if (this.#free.length > maxBlocks) this.#free.length = maxBlocks
  }

  /** Lets go of what is not in use. */
  clear(): void {
    this.#free.length = 0
  }
}
