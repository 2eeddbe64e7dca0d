const SLAB_BYTES = 65_536
/** Longer pieces get memory of their own. */
const MAX_SLAB_ALLOCATION = 8192

/**
 * Copies small pieces into slabs that nothing else shares. Node's own pool mixes them with whatever else the agent
 * allocates, and then one captured head can keep 64 KiB of long forgotten bytes.
 */
export class Copier {
  #slab: Buffer | undefined
  #used = 0

  copy(chunk: Buffer): Buffer {
    const slot = this.allocate(chunk.length)
    chunk.copy(slot)
    return slot
  }

  /** Memory to be filled by the caller. */
  allocate(size: number): Buffer {
    if (size > MAX_SLAB_ALLOCATION) return Buffer.allocUnsafeSlow(size)
    if (this.#slab === undefined || this.#used + size > SLAB_BYTES) {
      this.#slab = Buffer.allocUnsafeSlow(SLAB_BYTES)
      this.#used = 0
    }
    const slot = this.#slab.subarray(this.#used, this.#used + size)
    // Each begins at a word, so that it can be worked on in words.
    this.#used += (size + 7) & ~7
    return slot
  }
}
