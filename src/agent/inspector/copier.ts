const SLAB = 65_536
/** Longer pieces get memory of their own. */
const SMALL = 8192

/**
 * Copies small pieces into slabs that nothing else shares. Node's own pool mixes them with whatever else the agent
 * allocates, and then one captured head can keep 64 KiB of long forgotten bytes.
 */
export class Copier {
  #slab: Buffer | undefined
  #used = 0

  copy(piece: Buffer): Buffer {
    const place = this.take(piece.length)
    piece.copy(place)
    return place
  }

  /** Memory to be filled by the caller. */
  take(size: number): Buffer {
    if (size > SMALL) return Buffer.allocUnsafeSlow(size)
    if (this.#slab === undefined || this.#used + size > SLAB) {
      this.#slab = Buffer.allocUnsafeSlow(SLAB)
      this.#used = 0
    }
    const place = this.#slab.subarray(this.#used, this.#used + size)
    // Each begins at a word, so that it can be worked on in words.
    this.#used += (size + 7) & ~7
    return place
  }
}
