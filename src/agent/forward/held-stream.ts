import { StreamLayer } from './stream-layer.ts'

/** Keeps what comes until somebody is there to take it; at most one window, since nothing is consumed meanwhile. */
export class HeldStream extends StreamLayer {
  #pieces: Buffer[] | undefined = []
  #ended = false
  #closed: { error: Error | undefined } | undefined

  override onData(chunk: Buffer): void {
    if (this.#pieces) this.#pieces.push(Buffer.from(chunk))
    else this.sink.onData(chunk)
  }

  override onEnd(): void {
    if (this.#pieces) this.#ended = true
    else this.sink.onEnd()
  }

  override onClose(error?: Error): void {
    if (this.#pieces) this.#closed = { error }
    else this.sink.onClose(error)
  }

  /** The sink is set: gives it everything in order. */
  release(): void {
    const pieces = this.#pieces ?? []
    this.#pieces = undefined
    for (const piece of pieces) this.sink.onData(piece)
    if (this.#ended) this.sink.onEnd()
    if (this.#closed) this.sink.onClose(this.#closed.error)
  }
}
