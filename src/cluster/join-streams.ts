import type { ByteStream, StreamSink } from '../base/stream.ts'

/** Joins two streams until both are over: back-pressure, half-close and breaks pass through. */
export function joinStreams(one: ByteStream, other: ByteStream): void {
  const there = new Way(one, other)
  const back = new Way(other, one)
  there.opposite = back
  back.opposite = there
  one.sink = there
  other.sink = back
}

/** One direction: what comes out of a stream goes into the other. */
class Way implements StreamSink {
  opposite!: Way
  readonly #from: ByteStream
  readonly #to: ByteStream
  #owed = 0
  #over = false

  constructor(from: ByteStream, to: ByteStream) {
    this.#from = from
    this.#to = to
  }

  onData(chunk: Buffer): void {
    if (this.#over || this.#to.write(chunk)) this.#from.consumed(chunk.length)
    else this.#owed += chunk.length
  }

  onEnd(): void {
    this.#to.end()
  }

  onDrain(): void {
    this.opposite.#settle()
  }

  onClose(error?: Error): void {
    // Whatever the other stream still brings has nobody to go to.
    this.opposite.#over = true
    this.opposite.#settle()
    if (error === undefined) this.#to.end()
    else this.#to.reset(error)
  }

  /** What waited has been taken. */
  #settle(): void {
    const owed = this.#owed
    this.#owed = 0
    if (owed > 0) this.#from.consumed(owed)
  }
}
