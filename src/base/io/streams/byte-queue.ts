import type { ByteBudget } from '../memory/byte-budget.ts'
import { detachBuffer } from '../memory/detach-buffer.ts'

/** The first allocation for small chunks. */
const MIN_CAPACITY = 64
/** With this factor memory stays below twice the content, and each byte is copied at most three times. */
const GROWTH = 1.5
const EMPTY = Buffer.alloc(0)

/**
 * Buffers chunks of any size until they can be used, in one growing buffer instead of a list of chunks: a list costs
 * about 100 bytes per chunk, so a peer that sends single bytes would take a hundredfold (decision 119).
 */
export class ByteQueue {
  readonly #limit: number
  readonly #budget: ByteBudget | undefined
  #buffer: Buffer | undefined
  #start = 0
  #end = 0

  /** `limit` bounds the length. `budget` is charged for the memory and may reject it. */
  constructor(limit = Number.POSITIVE_INFINITY, budget?: ByteBudget) {
    this.#limit = limit
    this.#budget = budget
  }

  get length(): number {
    return this.#end - this.#start
  }

  /** The buffered bytes. The view is valid until the next call that changes the queue. */
  get bytes(): Buffer {
    return this.#buffer?.subarray(this.#start, this.#end) ?? EMPTY
  }

  /** Copies a chunk to the end. Returns false, and adds nothing, when the limit or the budget is exceeded. */
  push(chunk: Uint8Array): boolean {
    const length = this.length + chunk.length
    if (length > this.#limit || !this.#reserve(length, chunk.length)) return false
    if (chunk.length > 0) this.#buffer!.set(chunk, this.#end)
    this.#end += chunk.length
    return true
  }

  /** The buffered bytes followed by the chunk; the chunk itself, not copied, while the queue is empty. */
  join(chunk: Buffer): Buffer {
    if (this.length === 0) return chunk
    this.push(chunk)
    return this.bytes
  }

  /** Buffers the result of `join` until the next chunk. */
  retain(joined: Buffer): void {
    if (this.length === 0) this.push(joined)
  }

  /** Removes bytes from the front. */
  drop(count: number): void {
    this.#start += Math.min(count, this.length)
    if (this.#start === this.#end) this.clear()
  }

  /** Removes everything and frees the memory. Views returned before become invalid. */
  clear(): void {
    const buffer = this.#buffer
    this.#start = 0
    this.#end = 0
    if (buffer === undefined) return
    this.#buffer = undefined
    this.#budget?.refund(buffer.length)
    detachBuffer(buffer)
  }

  /** Empties the queue and transfers the bytes to the caller, who owns their memory. */
  take(): Buffer {
    const { bytes } = this
    if (this.#buffer !== undefined) this.#budget?.refund(this.#buffer.length)
    this.#buffer = undefined
    this.#start = 0
    this.#end = 0
    return bytes
  }

  /** Makes room for `added` bytes at the end, `length` in total. */
  #reserve(length: number, added: number): boolean {
    const buffer = this.#buffer
    const capacity = buffer?.length ?? 0
    if (this.#end + added <= capacity) return true
    // Compacts only when that frees half of the buffer, so that moving costs a constant per byte.
    if (buffer !== undefined && length <= capacity / 2) {
      buffer.copyWithin(0, this.#start, this.#end)
    } else {
      const size = Math.max(length, Math.min(Math.ceil(capacity * GROWTH), this.#limit), MIN_CAPACITY)
      if (this.#budget?.charge(size - capacity) === false) return false
      // Unpooled: a long wait would otherwise keep a whole shared block alive.
      const grown = Buffer.allocUnsafeSlow(size)
      if (buffer !== undefined) {
        buffer.copy(grown, 0, this.#start, this.#end)
        detachBuffer(buffer)
      }
      this.#buffer = grown
    }
    this.#end -= this.#start
    this.#start = 0
    return true
  }
}
