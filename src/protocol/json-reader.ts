import type { ByteBudget } from '../base/io/byte-budget.ts'
import { ByteQueue } from '../base/io/byte-queue.ts'

/** Larger messages are refused: the largest real ones (binds with certificates and policies) have some 100 KiB. */
export const MAX_MESSAGE_BYTES = 262_144

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d

/**
 * Finds the end of one JSON object in bytes that arrive piece by piece: messages have neither a length before them
 * nor a reliable FIN after them.
 */
export class JsonReader {
  readonly #held: ByteQueue
  readonly #limit: number
  #bytes = 0
  #depth = 0
  #inString = false
  #escaped = false

  constructor(limit = MAX_MESSAGE_BYTES, budget?: ByteBudget) {
    this.#limit = limit
    this.#held = new ByteQueue(limit, budget)
  }

  /**
   * Takes a piece; true when the object is complete. Bytes after it are ignored. Throws when this cannot become an
   * acceptable message.
   */
  push(piece: Buffer): boolean {
    let at = 0
    if (this.#depth === 0) {
      while (at < piece.length && isBlank(piece[at]!)) at++
      if (at === piece.length) {
        this.#count(piece.length)
        return false
      }
      if (piece[at] !== OPEN_BRACE) throw new SyntaxError('The message is not a JSON object.')
    }
    const from = at
    for (; at < piece.length; at++) {
      const byte = piece[at]!
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false
        else if (byte === BACKSLASH) this.#escaped = true
        else if (byte === QUOTE) this.#inString = false
      } else if (byte === QUOTE) this.#inString = true
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#depth++
      else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --this.#depth === 0) {
        this.#keep(piece.subarray(from, at + 1))
        return true
      }
    }
    this.#keep(piece.subarray(from))
    return false
  }

  /** The object, once `push` answered true. Throws when it is not valid JSON. */
  value(): Record<string, unknown> {
    const text = this.#held.bytes.toString('utf8')
    this.#held.clear()
    return JSON.parse(text)
  }

  /** Gives the memory of an unfinished message back. */
  clear(): void {
    this.#held.clear()
  }

  #keep(part: Buffer): void {
    this.#count(part.length)
    if (!this.#held.push(part)) throw new RangeError('Too many unfinished messages are held already.')
  }

  #count(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes > this.#limit) throw new RangeError(`The message exceeds ${this.#limit} bytes.`)
  }
}

function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}
