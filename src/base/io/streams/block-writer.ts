import type { Writable } from 'node:stream'
import type { BufferPool } from '../memory/buffer-pool.ts'

/**
 * Writes pooled blocks to a socket and returns them to the pool. One write is in flight at a time: with several queued,
 * Node's TLS copies them into memory that the garbage collector has to find (decision 96).
 */
export class BlockWriter {
  readonly #writable: Writable
  readonly #pool: BufferPool
  readonly #onWritten: (bytes: number) => void
  readonly #blocks: Buffer[] = []
  readonly #sizes: number[] = []
  #queuedBytes = 0
  #finished = false
  readonly #onDone = (error?: Error | null): void => this.#onWriteDone(error)

  /** `onWritten` reports the size of each block the socket has taken; nothing after an error. */
  constructor(writable: Writable, pool: BufferPool, onWritten: (bytes: number) => void) {
    this.#writable = writable
    this.#pool = pool
    this.#onWritten = onWritten
  }

  /** True while a write is in flight. */
  get busy(): boolean {
    return this.#blocks.length > 0
  }

  /** Bytes of queued blocks. The socket counts those being written. */
  get queuedBytes(): number {
    return this.#queuedBytes
  }

  /** Writes the first `size` bytes of a block, in order. */
  write(block: Buffer, size: number): void {
    this.#sizes.push(size)
    if (this.#blocks.push(block) === 1 || this.#finished) this.#writeBlock(this.#blocks.length - 1)
    else this.#queuedBytes += size
  }

  /** Writes all queued and later blocks immediately, because the socket is about to end. */
  finish(): void {
    this.#finished = true
    this.#queuedBytes = 0
    for (let index = 1; index < this.#blocks.length; index++) this.#writeBlock(index)
  }

  #writeBlock(index: number): void {
    this.#writable.write(this.#blocks[index]!.subarray(0, this.#sizes[index]), this.#onDone)
  }

  #onWriteDone(error?: Error | null): void {
    const block = this.#blocks.shift()!
    const size = this.#sizes.shift()!
    // After an error the socket may still use the block, so it is not reused.
    if (error) return
    this.#pool.release(block)
    if (this.#blocks.length > 0 && !this.#finished) {
      this.#queuedBytes -= this.#sizes[0]!
      this.#writeBlock(0)
    }
    this.#onWritten(size)
  }
}
