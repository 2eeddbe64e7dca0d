import type { ByteBudget } from '../../base/io/memory/byte-budget.ts'
import { ByteQueue } from '../../base/io/streams/byte-queue.ts'

/** Larger messages are rejected: the largest real ones (binds with certificates and policies) are about 100 KiB. */
export const MAX_MESSAGE_BYTES = 262_144

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d

/**
 * Finds the end of one JSON object in a chunked byte stream: messages have neither a length prefix nor a reliable FIN.
 */
export class JsonReader {
  readonly #buffer: ByteQueue
  readonly #limit: number
  #bytes = 0
  #depth = 0
  #inString = false
  #escaped = false

  constructor(limit = MAX_MESSAGE_BYTES, budget?: ByteBudget) {
    this.#limit = limit
    this.#buffer = new ByteQueue(limit, budget)
  }

  /**
   * Appends a chunk; true when the object is complete. Bytes after it are ignored. Throws when the bytes cannot become an
   * acceptable message.
   */
  push(chunk: Buffer): boolean {
    let offset = 0
    if (this.#depth === 0) {
      while (offset < chunk.length && isWhitespace(chunk[offset]!)) offset++
      if (offset === chunk.length) {
        this.#count(chunk.length)
        return false
      }
      if (chunk[offset] !== OPEN_BRACE) throw new SyntaxError('The message is not a JSON object.')
    }
    const from = offset
    for (; offset < chunk.length; offset++) {
      const byte = chunk[offset]!
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false
        else if (byte === BACKSLASH) this.#escaped = true
        else if (byte === QUOTE) this.#inString = false
      } else if (byte === QUOTE) this.#inString = true
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#depth++
      else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --this.#depth === 0) {
        this.#append(chunk.subarray(from, offset + 1))
        return true
      }
    }
    this.#append(chunk.subarray(from))
    return false
  }

  /** The object, once `push` returned true. Throws when it is not valid JSON. */
  value(): Record<string, unknown> {
    const text = this.#buffer.bytes.toString('utf8')
    this.#buffer.clear()
    return JSON.parse(text)
  }

  /** Releases the memory of an incomplete message. */
  clear(): void {
    this.#buffer.clear()
  }

  #append(bytes: Buffer): void {
    this.#count(bytes.length)
    if (!this.#buffer.push(bytes)) throw new RangeError('Too many incomplete messages are pending.')
  }

  #count(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes > this.#limit) throw new RangeError(`The message exceeds ${this.#limit} bytes.`)
  }
}

function isWhitespace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}
