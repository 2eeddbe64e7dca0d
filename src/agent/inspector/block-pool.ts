/** Bytes of one block. */
export const BLOCK = 32_768

/**
 * Blocks of memory that captured bodies are kept in. Evicted ones are used again at once instead of waiting to be
 * collected, so that what the inspector occupies stays within its limit also while much passes through.
 */
export class BlockPool {
  readonly #free: Buffer[] = []

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(BLOCK)
  }

  give(blocks: readonly Buffer[]): void {
    this.#free.push(...blocks)
  }

  /** Lets go of blocks not in use as far as they weigh more than this. */
  trim(bytes: number): void {
    const most = Math.max(0, Math.ceil(bytes / BLOCK))
    if (this.#free.length > most) this.#free.length = most
  }

  /** Lets go of what is not in use. */
  clear(): void {
    this.#free.length = 0
  }
}
