import type { BufferPool } from '../../base/io/buffer-pool.ts'
import type { Copier } from './copier.ts'

/** The maximum captured size of one body. */
export const MAX_BODY_BYTES = 1024 * 1024

/** Larger bodies are stored in blocks of this size. */
export const BLOCK_BYTES = 32_768

/** Smaller bodies are stored outside the block pool: a block would waste more than it saves. */
const MAX_SMALL_BODY_BYTES = 4096

/** The captured copy of a message: its head, its body up to the limit, and the size of the body. */
export class MessageCopy {
  readonly head: Buffer
  /** Size of the body on the wire, captured or not. */
  bodyBytes = 0
  /** True if the copy is incomplete: the body exceeded the limit, or the message never ended. */
  truncated = false
  /** True until the message is complete. */
  arriving = false
  /** False if header values were redacted. */
  readonly exact: boolean
  #smallBody: Buffer | undefined
  #blocks: Buffer[] | undefined
  #storedBytes = 0

  constructor(head: Buffer, exact: boolean) {
    this.head = head
    this.exact = exact
  }

  /** Memory in use, in bytes. */
  get size(): number {
    return this.head.length + (this.#smallBody?.length ?? 0) + (this.#blocks?.length ?? 0) * BLOCK_BYTES
  }

  /** Adds body data up to the limit. */
  add(chunk: Buffer, pool: BufferPool, copier: Copier): void {
    this.bodyBytes += chunk.length
    const accepted = Math.min(MAX_BODY_BYTES - this.#storedBytes, chunk.length)
    if (accepted < chunk.length) this.truncated = true
    if (accepted <= 0) return
    if (this.#blocks === undefined && this.#storedBytes + accepted <= MAX_SMALL_BODY_BYTES) {
      const small = this.#growSmall(this.#storedBytes + accepted, copier)
      chunk.copy(small, this.#storedBytes, 0, accepted)
    } else {
      this.#fillBlocks(chunk.subarray(0, accepted), pool)
    }
    this.#storedBytes += accepted
  }

  /** Doubles the buffer, since a body may arrive in many small chunks. */
  #growSmall(minBytes: number, copier: Copier): Buffer {
    const small = this.#smallBody
    if (small !== undefined && small.length >= minBytes) return small
    const larger = copier.allocate(
      Math.max(minBytes, Math.min(MAX_SMALL_BODY_BYTES, 2 * (small?.length ?? 0))),
    )
    small?.copy(larger)
    this.#smallBody = larger
    return larger
  }

  #fillBlocks(chunk: Buffer, pool: BufferPool): void {
    if (this.#blocks === undefined) {
      this.#blocks = [pool.acquire()]
      this.#smallBody?.copy(this.#blocks[0]!)
      this.#smallBody = undefined
    }
    const blocks = this.#blocks
    for (let offset = 0; offset < chunk.length; ) {
      const used = (this.#storedBytes + offset) % BLOCK_BYTES
      if (used === 0 && this.#storedBytes + offset > 0) blocks.push(pool.acquire())
      offset += chunk.copy(blocks.at(-1)!, used, offset)
    }
  }

  /** Returns the blocks of the body to the pool; the rest is marked truncated. */
  release(pool: BufferPool): void {
    if (this.#blocks) {
      for (const block of this.#blocks) pool.release(block)
      this.truncated = true
    }
    this.#blocks = undefined
  }

  /** Head and body as they were on the wire. */
  raw(): Buffer {
    return Buffer.concat([this.head, this.body()])
  }

  /** The body alone, framing included. */
  body(): Buffer {
    if (this.#blocks) return Buffer.concat(this.#blocks, this.#storedBytes)
    return this.#smallBody?.subarray(0, this.#storedBytes) ?? Buffer.alloc(0)
  }
}
