import type { ByteStream, StreamSink } from './stream.ts'

/**
 * Forwards bytes between two streams until both are closed. Back-pressure, half-close and resets propagate. `Pipe` joins a
 * stream and a socket: it coalesces the writes of the socket, and credits what the kernel has taken (decision 151).
 */
export class StreamRelay {
  /** Chunks relayed so far, in both directions. */
  chunks = 0
  /** True when the last chunk went from the first stream to the second, which may be about to reply. */
  awaitingReply = false
  #openStreams = 2
  readonly #onClose: (relay: StreamRelay) => void

  constructor(first: ByteStream, second: ByteStream, onClose: (relay: StreamRelay) => void) {
    this.#onClose = onClose
    first.onNote = (payload) => second.sendNote?.(payload)
    new Direction(first, second, this)
  }

  /** One of the two streams has closed. */
  onStreamClose(): void {
    this.#openStreams -= 1
    if (this.#openStreams === 0) this.#onClose(this)
  }
}

/** One direction of a relay. The forward one creates the backward one. */
class Direction implements StreamSink {
  readonly #source: ByteStream
  readonly #destination: ByteStream
  readonly #relay: StreamRelay
  readonly #isForward: boolean
  readonly #opposite: Direction
  #uncredited = 0
  #destinationClosed = false

  constructor(source: ByteStream, destination: ByteStream, relay: StreamRelay, forward?: Direction) {
    this.#source = source
    this.#destination = destination
    this.#relay = relay
    this.#isForward = forward === undefined
    this.#opposite = forward ?? new Direction(destination, source, relay, this)
    source.sink = this
  }

  onData(chunk: Buffer): void {
    this.#relay.chunks += 1
    this.#relay.awaitingReply = this.#isForward
    if (this.#destinationClosed || this.#destination.write(chunk)) this.#source.consumed(chunk.length)
    else this.#uncredited += chunk.length
  }

  onEnd(): void {
    this.#destination.end()
  }

  onDrain(): void {
    this.#opposite.#credit()
  }

  onClose(error?: Error): void {
    // What the other stream still sends has no receiver.
    this.#opposite.#destinationClosed = true
    this.#opposite.#credit()
    if (error === undefined) this.#destination.end()
    else this.#destination.reset(error)
    this.#relay.onStreamClose()
  }

  /** Credits the source once the destination has taken everything. */
  #credit(): void {
    const uncredited = this.#uncredited
    this.#uncredited = 0
    if (uncredited > 0) this.#source.consumed(uncredited)
  }
}
