import type { ByteStream, StreamSink } from './stream.ts'

/** Two streams joined until both are over: back-pressure, half-close and breaks pass through. */
export class Joined {
  /** Pieces carried so far, both ways. */
  pieces = 0
  /** True when the last piece went from the first to the second, who may be about to answer. */
  asked = false
  #open = 2
  readonly #onOver: (joined: Joined) => void

  constructor(one: ByteStream, other: ByteStream, onOver: (joined: Joined) => void) {
    this.#onOver = onOver
    const there = new Way(one, other, this, true)
    const back = new Way(other, one, this, false)
    there.opposite = back
    back.opposite = there
    one.sink = there
    other.sink = back
  }

  /** One of the two is over. */
  closed(): void {
    this.#open -= 1
    if (this.#open === 0) this.#onOver(this)
  }
}

/** One direction: what comes out of a stream goes into the other. */
class Way implements StreamSink {
  opposite!: Way
  readonly #from: ByteStream
  readonly #to: ByteStream
  readonly #joined: Joined
  readonly #asks: boolean
  #owed = 0
  #over = false

  constructor(from: ByteStream, to: ByteStream, joined: Joined, asks: boolean) {
    this.#from = from
    this.#to = to
    this.#joined = joined
    this.#asks = asks
  }

  onData(chunk: Buffer): void {
    this.#joined.pieces += 1
    this.#joined.asked = this.#asks
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
    this.#joined.closed()
  }

  /** What waited has been taken. */
  #settle(): void {
    const owed = this.#owed
    this.#owed = 0
    if (owed > 0) this.#from.consumed(owed)
  }
}
