/** Wire data ends early or is not in canonical form; callers convert it into their own error. */
class WireError extends Error {}

/** A `string` of RFC 4251 section 5: its length in four bytes, then its bytes. */
export function wireString(value: Uint8Array | string): Buffer {
  const bytes = Buffer.from(value as string)
  return Buffer.concat([uint32(bytes.length), bytes])
}

/** An `mpint` of RFC 4251 for a number that is not negative, from its big-endian bytes. */
export function wireInteger(magnitude: Uint8Array): Buffer {
  let start = 0
  while (start < magnitude.length && magnitude[start] === 0) start++
  const bytes = magnitude.subarray(start)
  // A leading zero keeps the number from reading as negative.
  return wireString(bytes.length > 0 && bytes[0]! >= 0x80 ? Buffer.concat([Buffer.of(0), bytes]) : bytes)
}

/** Four bytes, big-endian. */
export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** Eight bytes, big-endian. */
export function uint64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(value)
  return bytes
}

/** Reads wire data from the front, never past its end. */
export class WireReader {
  readonly #bytes: Buffer
  #offset = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get rest(): Buffer {
    return this.#bytes.subarray(this.#offset)
  }

  string(): Buffer {
    if (this.rest.length < 4) throw new WireError('the data ends inside a length')
    const length = this.#bytes.readUInt32BE(this.#offset)
    if (length > this.rest.length - 4) throw new WireError('the data ends inside a string')
    this.#offset += 4 + length
    return this.#bytes.subarray(this.#offset - length, this.#offset)
  }

  text(): string {
    return this.string().toString('latin1')
  }

  /** The big-endian bytes of a positive number, without its sign byte. */
  positive(): Buffer {
    const bytes = this.string()
    const minimal =
      bytes[0] === 0 ? bytes.length > 1 && bytes[1]! >= 0x80 : bytes.length > 0 && bytes[0]! < 0x80
    if (!minimal) throw new WireError('a number is negative, zero or not in its shortest form')
    return bytes[0] === 0 ? bytes.subarray(1) : bytes
  }

  end(): void {
    if (this.rest.length > 0) throw new WireError('there are bytes after the end')
  }
}
