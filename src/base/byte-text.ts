// Encoding in batches avoids both a second copy of the whole text and a call per string.
const ENCODE_BATCH_CHARS = 8 * 1024

/** Builds a long UTF-8 text from many strings. */
export class ByteText {
  #bytes: Buffer
  #length = 0
  #pending = ''

  constructor(expectedBytes: number) {
    this.#bytes = Buffer.allocUnsafeSlow(expectedBytes)
  }

  append(text: string): void {
    this.#pending += text
    if (this.#pending.length >= ENCODE_BATCH_CHARS) this.#encode()
  }

  /** Everything appended since the last `clear`. The view is valid until the next call. */
  get bytes(): Uint8Array {
    this.#encode()
    return this.#bytes.subarray(0, this.#length)
  }

  /** Starts over and reuses the memory. */
  clear(): void {
    this.#length = 0
    this.#pending = ''
  }

  #encode(): void {
    // A UTF-16 unit takes three bytes at most.
    const maxLength = this.#length + this.#pending.length * 3
    if (maxLength > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(maxLength, this.#bytes.length * 2))
      this.#bytes.copy(grown, 0, 0, this.#length)
      this.#bytes = grown
    }
    this.#length += this.#bytes.write(this.#pending, this.#length, 'utf8')
    this.#pending = ''
  }
}
