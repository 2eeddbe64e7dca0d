const SLAB_BYTES = 65_536
/** Larger allocations get their own buffer. */
const MAX_SLAB_ALLOCATION = 8192

/**
 * Copies small buffers into slabs of the inspector. In Node's buffer pool they would be mixed with other allocations of
 * the agent, and one captured head could retain 64 KiB of unrelated garbage.
 */
export class Copier {
  #slab: Buffer | undefined
  #used = 0

  copy(chunk: Buffer): Buffer {
    const slot = this.allocate(chunk.length)
    chunk.copy(slot)
    return slot
  }

  /** Uninitialized memory for the caller to fill. */
  allocate(size: number): Buffer {
    if (size > MAX_SLAB_ALLOCATION) return Buffer.allocUnsafeSlow(size)
    if (this.#slab === undefined || this.#used + size > SLAB_BYTES) {
      this.#slab = Buffer.allocUnsafeSlow(SLAB_BYTES)
      this.#used = 0
    }
    const slot = this.#slab.subarray(this.#used, this.#used + size)
    // Aligned, so that unmasking can work in 32-bit words.
    this.#used += (size + 7) & ~7
    return slot
  }
}
