import { ByteQueue } from './byte-queue.ts'
import { StreamLayer } from './stream-layer.ts'

/** Buffers a stream until its sink is set; at most one window, since nothing is consumed before. */
export class BufferedStream extends StreamLayer {
  #queue: ByteQueue | undefined = new ByteQueue()
  #ended = false
  #closed: { error: Error | undefined } | undefined

  override onData(chunk: Buffer): void {
    if (this.#queue) this.#queue.push(chunk)
    else this.sink.onData(chunk)
  }

  override onEnd(): void {
    if (this.#queue) this.#ended = true
    else this.sink.onEnd()
  }

  override onClose(error?: Error): void {
    if (this.#queue) this.#closed = { error }
    else this.sink.onClose(error)
  }

  /** Delivers the buffered data and events to the sink in order. */
  flush(): void {
    const bytes = this.#queue?.take()
    this.#queue = undefined
    if (bytes !== undefined && bytes.length > 0) this.sink.onData(bytes)
    if (this.#ended) this.sink.onEnd()
    if (this.#closed) this.sink.onClose(this.#closed.error)
  }
}
