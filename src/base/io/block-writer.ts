import type { Writable } from 'node:stream'
import type { BufferPool } from './buffer-pool.ts'

/**
 * Writes blocks of a pool to a socket and gives them back, one write at a time: when several wait, Node's TLS copies
 * them into memory of its own, which the collector then has to find.
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

  /** `onWritten` is told of every block that has left; after an error of the socket of none. */
  constructor(writable: Writable, pool: BufferPool, onWritten: (bytes: number) => void) {
    this.#writable = writable
    this.#pool = pool
    this.#onWritten = onWritten
  }

  /** True while a block is being written. */
  get busy(): boolean {
    return this.#blocks.length > 0
  }

  /** Bytes that wait for their turn; those being written are counted by the socket. */
  get queuedBytes(): number {
    return this.#queuedBytes
  }

  /** Writes the first `size` bytes of a block, after those given before. */
  write(block: Buffer, size: number): void {
    this.#sizes.push(size)
    if (this.#blocks.push(block) === 1 || this.#finished) this.#writeBlock(this.#blocks.length - 1)
    else this.#queuedBytes += size
  }

  /** Hands over what waits, and whatever else comes, at once: the socket is about to be ended. */
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
    // After an error the block may still be in the hands of the socket, so it is not used again.
    if (error) return
    this.#pool.release(block)
    if (this.#blocks.length > 0 && !this.#finished) {
      this.#queuedBytes -= this.#sizes[0]!
      this.#writeBlock(0)
    }
    this.#onWritten(size)
  }
}
