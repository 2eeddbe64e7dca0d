// Strings are encoded a few at a time: all of them at once would be one more copy, and each by itself one more call.
const AT_ONCE = 8 * 1024

/** A long text that is put together from many strings, as UTF-8. */
export class ByteText {
  #bytes: Buffer
  #length = 0
  #waiting = ''

  constructor(expectedBytes: number) {
    this.#bytes = Buffer.allocUnsafeSlow(expectedBytes)
  }

  add(text: string): void {
    this.#waiting += text
    if (this.#waiting.length >= AT_ONCE) this.#encode()
  }

  /** All that was added so far, until it is cleared. */
  get bytes(): Uint8Array {
    this.#encode()
    return this.#bytes.subarray(0, this.#length)
  }

  /** Begins anew, in the same memory. */
  clear(): void {
    this.#length = 0
    this.#waiting = ''
  }

  #encode(): void {
    // A UTF-16 unit takes three bytes at most.
    const most = this.#length + this.#waiting.length * 3
    if (most > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(most, this.#bytes.length * 2))
      this.#bytes.copy(grown, 0, 0, this.#length)
      this.#bytes = grown
    }
    this.#length += this.#bytes.write(this.#waiting, this.#length, 'utf8')
    this.#waiting = ''
  }
}
