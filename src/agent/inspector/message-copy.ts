import type { BufferPool } from '../../base/io/memory/buffer-pool.ts'
import type { Copier } from './copier.ts'

/** The maximum captured size of one body. */
export const MAX_BODY_BYTES = 1024 * 1024

/** Larger bodies are stored in blocks of this size. */
export const BLOCK_BYTES = 32_768

/** Smaller bodies are stored outside the block pool: a block would waste more than it saves. */
const MAX_SMALL_BODY_BYTES = 4096

const NO_BYTES = Buffer.alloc(0)

/** The captured copy of a message: its head, its body up to the limit, and the size of the body. */
export class MessageCopy {
  /** Size of the body on the wire, captured or not. */
  bodyBytes = 0
  /** True if the copy is incomplete: the body exceeded the limit, or the message never ended. */
  truncated = false
  /** True until the message is complete. */
  arriving = false
  /** False if header values were redacted. */
  readonly exact: boolean
  #headSlab: Buffer
  readonly #headOffset: number
  #headLength: number
  /** The memory of a small body; a larger one is in blocks. */
  #bodySlab: Buffer | undefined
  #bodyOffset = 0
  #bodyCapacity = 0
  #blocks: Buffer[] | undefined
  #storedBytes = 0

  constructor(head: Buffer, exact: boolean, copier: Copier) {
    this.#headSlab = copier.allocate(head.length)
    this.#headOffset = copier.offset
    this.#headLength = head.length
    this.#headSlab.set(head, this.#headOffset)
    this.exact = exact
  }

  get head(): Buffer {
    return this.#headSlab.subarray(this.#headOffset, this.#headOffset + this.#headLength)
  }

  /** Memory in use, in bytes. */
  get size(): number {
    return this.#headLength + this.#bodyCapacity + (this.#blocks?.length ?? 0) * BLOCK_BYTES
  }

  /** Adds body data up to the limit. */
  add(chunk: Buffer, pool: BufferPool, copier: Copier): void {
    this.bodyBytes += chunk.length
    const accepted = Math.min(MAX_BODY_BYTES - this.#storedBytes, chunk.length)
    if (accepted < chunk.length) this.truncated = true
    if (accepted <= 0) return
    if (this.#blocks === undefined && this.#storedBytes + accepted <= MAX_SMALL_BODY_BYTES) {
      const slab = this.#growSmallBody(this.#storedBytes + accepted, copier)
      chunk.copy(slab, this.#bodyOffset + this.#storedBytes, 0, accepted)
    } else {
      this.#fillBlocks(chunk.subarray(0, accepted), pool)
    }
    this.#storedBytes += accepted
  }

  /** Doubles the memory, since a body may arrive in many small chunks. */
  #growSmallBody(minBytes: number, copier: Copier): Buffer {
    if (this.#bodySlab !== undefined && this.#bodyCapacity >= minBytes) return this.#bodySlab
    const body = this.#smallBody()
    const capacity = Math.max(minBytes, Math.min(MAX_SMALL_BODY_BYTES, 2 * this.#bodyCapacity))
    const slab = copier.allocate(capacity)
    this.#bodySlab = slab
    this.#bodyOffset = copier.offset
    this.#bodyCapacity = capacity
    body?.copy(slab, this.#bodyOffset)
    return slab
  }

  #smallBody(): Buffer | undefined {
    return this.#bodySlab?.subarray(this.#bodyOffset, this.#bodyOffset + this.#storedBytes)
  }

  #fillBlocks(chunk: Buffer, pool: BufferPool): void {
    if (this.#blocks === undefined) {
      this.#blocks = [pool.acquire()]
      this.#smallBody()?.copy(this.#blocks[0]!)
      this.#bodySlab = undefined
      this.#bodyCapacity = 0
    }
    const blocks = this.#blocks
    for (let offset = 0; offset < chunk.length; ) {
      const used = (this.#storedBytes + offset) % BLOCK_BYTES
      if (used === 0 && this.#storedBytes + offset > 0) blocks.push(pool.acquire())
      offset += chunk.copy(blocks.at(-1)!, used, offset)
    }
  }

  /** Forgets head and body, whose slabs would outlive it by far; blocks return to the pool. */
  release(pool: BufferPool): void {
    for (const block of this.#blocks ?? []) pool.release(block)
    this.truncated = true
    this.#headSlab = NO_BYTES
    this.#headLength = 0
    this.#blocks = undefined
    this.#bodySlab = undefined
    this.#bodyCapacity = 0
  }

  /** Head and body as they were on the wire. */
  raw(): Buffer {
    return Buffer.concat([this.head, this.body()])
  }

  /** The body alone, framing included. */
  body(): Buffer {
    if (this.#blocks) return Buffer.concat(this.#blocks, this.#storedBytes)
    return this.#smallBody() ?? NO_BYTES
  }
}
