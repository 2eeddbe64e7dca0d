import { BLOCK, type BlockPool } from './block-pool.ts'
import type { Copier } from './copier.ts'

/** The most that is kept of one body. */
export const MAX_BODY = 1024 * 1024

/** Up to here a body is kept in a copy of its own; a block would waste more than it saves. */
const SMALL = 4096

/** What is kept of a message: its head, as much of its body as fits, and how much there was. */
export class MessageCopy {
  readonly head: Buffer
  /** Bytes of the body that came, kept or not. */
  bodyBytes = 0
  /** True when the bytes kept are not the whole message: the body was too long, or the message never ended. */
  truncated = false
  /** True while more of its body is to come. */
  arriving = false
  /** False once a header value was left out on purpose. */
  readonly exact: boolean
  #small: Buffer | undefined
  #blocks: Buffer[] | undefined
  #kept = 0

  constructor(head: Buffer, exact: boolean) {
    this.head = head
    this.exact = exact
  }

  /** Bytes this copy holds in memory. */
  get size(): number {
    return this.head.length + (this.#small?.length ?? 0) + (this.#blocks?.length ?? 0) * BLOCK
  }

  /** Takes a piece of the body as far as there is room. */
  add(piece: Buffer, pool: BlockPool, copier: Copier): void {
    this.bodyBytes += piece.length
    const kept = Math.min(MAX_BODY - this.#kept, piece.length)
    if (kept < piece.length) this.truncated = true
    if (kept <= 0) return
    if (this.#blocks === undefined && this.#kept + kept <= SMALL) {
      const small = this.#roomFor(this.#kept + kept, copier)
      piece.copy(small, this.#kept, 0, kept)
    } else {
      this.#fill(piece.subarray(0, kept), pool)
    }
    this.#kept += kept
  }

  /** Grows in steps, as a body may come in many small pieces. */
  #roomFor(bytes: number, copier: Copier): Buffer {
    const small = this.#small
    if (small !== undefined && small.length >= bytes) return small
    const larger = copier.take(Math.max(bytes, Math.min(SMALL, 2 * (small?.length ?? 0))))
    small?.copy(larger)
    this.#small = larger
    return larger
  }

  #fill(piece: Buffer, pool: BlockPool): void {
    if (this.#blocks === undefined) {
      this.#blocks = [pool.take()]
      this.#small?.copy(this.#blocks[0]!)
      this.#small = undefined
    }
    const blocks = this.#blocks
    for (let from = 0; from < piece.length; ) {
      const used = (this.#kept + from) % BLOCK
      if (used === 0 && this.#kept + from > 0) blocks.push(pool.take())
      from += piece.copy(blocks.at(-1)!, used, from)
    }
  }

  /** Gives the memory of the body back; what is left says that it is not all. */
  release(pool: BlockPool): void {
    if (this.#blocks) {
      pool.give(this.#blocks)
      this.truncated = true
    }
    this.#blocks = undefined
  }

  /** Head and body as they stood on the wire. */
  raw(): Buffer {
    return Buffer.concat([this.head, this.body()])
  }

  /** The body alone, framing included. */
  body(): Buffer {
    if (this.#blocks) return Buffer.concat(this.#blocks, this.#kept)
    return this.#small?.subarray(0, this.#kept) ?? Buffer.alloc(0)
  }
}
