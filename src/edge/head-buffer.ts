/**
 * Collects a head that arrives in several pieces. It grows by doubling, so that a head sent byte by byte costs no more
 * than its length, and remembers how far it was searched.
 */
export class HeadBuffer {
  #bytes: Buffer | undefined
  #size = 0
  /** How many bytes have been searched in vain. */
  searched = 0

  get size(): number {
    return this.#size
  }

  /** Everything so far with this piece behind it. */
  append(piece: Buffer): Buffer {
    const size = this.#size + piece.length
    if (this.#bytes === undefined || size > this.#bytes.length) {
      const grown = Buffer.allocUnsafe(Math.max(512, size * 2))
      this.#bytes?.copy(grown, 0, 0, this.#size)
      this.#bytes = grown
    }
    piece.copy(this.#bytes, this.#size)
    this.#size = size
    return this.#bytes.subarray(0, size)
  }

  clear(): void {
    this.#bytes = undefined
    this.#size = 0
    this.searched = 0
  }
}

const END = Buffer.from('\r\n\r\n')

/** The length of the head at the start of these bytes, the empty line included; -1 when it is not complete. */
export function headLength(bytes: Buffer, searched: number): number {
  const end = bytes.indexOf(END, searched > 3 ? searched - 3 : 0)
  return end === -1 ? -1 : end + 4
}
