import { ByteQueue } from '../../base/io/byte-queue.ts'

/** Collects a head that arrives in several pieces, and remembers how far it was searched. */
export class HeadBuffer {
  readonly #buffer = new ByteQueue()
  /** How many bytes have been searched in vain. */
  searched = 0

  get size(): number {
    return this.#buffer.length
  }

  /** Everything so far with this piece behind it. */
  append(chunk: Buffer): Buffer {
    this.#buffer.push(chunk)
    return this.#buffer.bytes
  }

  /** Forgets the head; what `append` answered with stays as it is. */
  clear(): void {
    this.#buffer.take()
    this.searched = 0
  }
}

const HEAD_END = Buffer.from('\r\n\r\n')

/** The length of the head at the start of these bytes, the empty line included; -1 when it is not complete. */
export function headLength(bytes: Buffer, searched: number): number {
  const end = bytes.indexOf(HEAD_END, searched > 3 ? searched - 3 : 0)
  return end === -1 ? -1 : end + 4
}
