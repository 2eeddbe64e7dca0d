/**
 * Output buffers shared by the sessions of one process, so that an idle session owns none and a busy one allocates
 * none. Kept small: what comes back beyond `keep` is left to the garbage collector.
 */
export class BufferPool {
  /** Two full DATA frames with their headers and room for some control frames. */
  static readonly bytes = 65_536 + 512

  readonly #free: Buffer[] = []
  readonly #keep: number

  constructor(keep = 32) {
    this.#keep = keep
  }

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(BufferPool.bytes)
  }

  give(buffer: Buffer): void {
    if (this.#free.length < this.#keep) this.#free.push(buffer)
  }
}
