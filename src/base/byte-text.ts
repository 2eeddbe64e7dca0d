// Strings are encoded a few at a time: all of them at once would be one more copy, and each by itself one more call.
const ENCODE_BATCH_CHARS = 8 * 1024

/** A long text that is put together from many strings, as UTF-8. */
export class ByteText {
  #bytes: Buffer
  #length = 0
  #pending = ''

  constructor(expectedBytes: number) {
    this.#bytes = Buffer.allocUnsafeSlow(expectedBytes)
  }

  add(text: string): void {
    this.#pending += text
    if (this.#pending.length >= ENCODE_BATCH_CHARS) this.#encode()
  }

  /** All that was added so far, until it is cleared. */
  get bytes(): Uint8Array {
    this.#encode()
    return this.#bytes.subarray(0, this.#length)
  }

  /** Begins anew, in the same memory. */
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
