import { ByteQueue } from '../../base/io/byte-queue.ts'

/** Collects a head that arrives in several reads, and remembers how far it was searched. */
export class HeadBuffer {
  readonly #buffer = new ByteQueue()
  /** How many bytes were searched without finding the end. */
  searched = 0

  get size(): number {
    return this.#buffer.length
  }

  /** Appends the chunk and returns all bytes so far. */
  append(chunk: Buffer): Buffer {
    this.#buffer.push(chunk)
    return this.#buffer.bytes
  }

  /** Releases the head; the bytes that `append` returned stay valid. */
  clear(): void {
    this.#buffer.take()
    this.searched = 0
  }
}
