const SLAB_BYTES = 65_536
/** Larger allocations get their own buffer. */
const MAX_SLAB_ALLOCATION = 8192

/**
 * Copies small buffers into slabs of the inspector. In Node's buffer pool they would be mixed with other allocations of
 * the agent, and one captured head could retain 64 KiB of unrelated garbage.
 */
export class Copier {
  #slab = Buffer.allocUnsafeSlow(SLAB_BYTES)
  #used = 0
  /** Where the memory of the latest `allocate` begins. */
  offset = 0

  copy(chunk: Buffer): Buffer {
    const slab = this.allocate(chunk.length)
    slab.set(chunk, this.offset)
    return slab.subarray(this.offset, this.offset + chunk.length)
  }

  /**
   * Uninitialized memory for the caller to fill: returns the slab, in which it begins at `offset`. A buffer for each part
   * of it would take more memory than most parts, and more time than copying them.
   */
  allocate(size: number): Buffer {
    if (size > MAX_SLAB_ALLOCATION) {
      this.offset = 0
      return Buffer.allocUnsafeSlow(size)
    }
    if (this.#used + size > SLAB_BYTES) {
      this.#slab = Buffer.allocUnsafeSlow(SLAB_BYTES)
      this.#used = 0
    }
    this.offset = this.#used
    // Aligned, so that unmasking can work in 32-bit words.
    this.#used += (size + 7) & ~7
    return this.#slab
  }
}
