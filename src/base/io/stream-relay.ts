import type { ByteStream, StreamSink } from './stream.ts'

/** Two streams joined until both are over: back-pressure, half-close and breaks pass through. */
export class Joined {
  /** Pieces carried so far, both ways. */
  pieces = 0
  /** True when the last piece went from the first to the second, who may be about to answer. */
  asked = false
  #openStreams = 2
  readonly #onClose: (joined: Joined) => void

  constructor(first: ByteStream, second: ByteStream, onClose: (joined: Joined) => void) {
    this.#onClose = onClose
    const forward = new Direction(first, second, this, true)
    const backward = new Direction(second, first, this, false)
    forward.opposite = backward
    backward.opposite = forward
    first.sink = forward
    second.sink = backward
  }

  /** One of the two is over. */
  onStreamClose(): void {
    this.#openStreams -= 1
    if (this.#openStreams === 0) this.#onClose(this)
  }
}

/** One direction: what comes out of a stream goes into the other. */
class Direction implements StreamSink {
  opposite!: Direction
  readonly #source: ByteStream
  readonly #destination: ByteStream
  readonly #relay: Joined
  readonly #isForward: boolean
  #uncredited = 0
  #destinationClosed = false

  constructor(source: ByteStream, destination: ByteStream, relay: Joined, isForward: boolean) {
    this.#source = source
    this.#destination = destination
    this.#relay = relay
    this.#isForward = isForward
  }

  onData(chunk: Buffer): void {
    this.#relay.pieces += 1
    this.#relay.asked = this.#isForward
    if (this.#destinationClosed || this.#destination.write(chunk)) this.#source.consumed(chunk.length)
    else this.#uncredited += chunk.length
  }

  onEnd(): void {
    this.#destination.end()
  }

  onDrain(): void {
    this.opposite.#credit()
  }

  onClose(error?: Error): void {
    // Whatever the other stream still brings has nobody to go to.
    this.opposite.#destinationClosed = true
    this.opposite.#credit()
    if (error === undefined) this.#destination.end()
    else this.#destination.reset(error)
    this.#relay.onStreamClose()
  }

  /** What waited has been taken. */
  #credit(): void {
    const uncredited = this.#uncredited
    this.#uncredited = 0
    if (uncredited > 0) this.#source.consumed(uncredited)
  }
}
