import type { ByteBudget } from './byte-budget.ts'
import { releasePiece } from './detach-buffer.ts'

/** The first allocation for small pieces. */
const MIN_CAPACITY = 64
/** With half as much again at a time, memory stays below twice the content, and each byte is copied three times at most. */
const GROWTH = 1.5
const EMPTY = Buffer.alloc(0)

/**
 * Bytes that arrive in pieces of any size and are held until they can be used: one buffer that grows, never a list of
 * pieces. A list costs some 100 bytes for each piece, so that a peer that sends single bytes would take a hundredfold.
 */
export class ByteQueue {
  readonly #limit: number
  readonly #budget: ByteBudget | undefined
  #buffer: Buffer | undefined
  #start = 0
  #end = 0

  /** `limit` bounds the length; `budget` is charged for the memory and may refuse it. */
  constructor(limit = Number.POSITIVE_INFINITY, budget?: ByteBudget) {
    this.#limit = limit
    this.#budget = budget
  }

  get length(): number {
    return this.#end - this.#start
  }

  /** The bytes held. The view is valid until the next call that changes the queue. */
  get bytes(): Buffer {
    return this.#buffer?.subarray(this.#start, this.#end) ?? EMPTY
  }

  /** Copies a piece to the end. False when the limit or the budget is exceeded, and then nothing is added. */
  push(chunk: Uint8Array): boolean {
    const length = this.length + chunk.length
    if (length > this.#limit || !this.#reserve(length, chunk.length)) return false
    if (chunk.length > 0) this.#buffer!.set(chunk, this.#end)
    this.#end += chunk.length
    return true
  }

  /** Everything held with a piece behind it; the piece itself, not copied, while nothing is held. */
  join(chunk: Buffer): Buffer {
    if (this.length === 0) return chunk
    this.push(chunk)
    return this.bytes
  }

  /** Keeps what `join` answered with until the next piece. */
  keep(joined: Buffer): void {
    if (this.length === 0) this.push(joined)
  }

  /** Removes bytes from the front. */
  drop(count: number): void {
    this.#start += Math.min(count, this.length)
    if (this.#start === this.#end) this.clear()
  }

  /** Removes everything and gives the memory back; the view handed out before must not be used any more. */
  clear(): void {
    const buffer = this.#buffer
    this.#start = 0
    this.#end = 0
    if (buffer === undefined) return
    this.#buffer = undefined
    this.#budget?.refund(buffer.length)
    releasePiece(buffer)
  }

  /** Hands the bytes over: the queue is empty afterwards, and the memory is the caller's. */
  take(): Buffer {
    const { bytes } = this
    if (this.#buffer !== undefined) this.#budget?.refund(this.#buffer.length)
    this.#buffer = undefined
    this.#start = 0
    this.#end = 0
    return bytes
  }

  /** Makes room for `more` bytes at the end, `length` in all. */
  #reserve(length: number, added: number): boolean {
    const buffer = this.#buffer
    const capacity = buffer?.length ?? 0
    if (this.#end + added <= capacity) return true
    // Moved to the front only when that frees half of the buffer, so that moving costs each byte a constant.
    if (buffer !== undefined && length <= capacity / 2) {
      buffer.copyWithin(0, this.#start, this.#end)
    } else {
      const size = Math.max(length, Math.min(Math.ceil(capacity * GROWTH), this.#limit), MIN_CAPACITY)
      if (this.#budget?.charge(size - capacity) === false) return false
      // Memory of its own: of a block that is shared, bytes that wait for long would keep all.
      const grown = Buffer.allocUnsafeSlow(size)
      if (buffer !== undefined) {
        buffer.copy(grown, 0, this.#start, this.#end)
        releasePiece(buffer)
      }
      this.#buffer = grown
    }
    this.#end -= this.#start
    this.#start = 0
    return true
  }
}
