import { ByteQueue } from '../../base/io/streams/byte-queue.ts'
import type { Exchange } from '../contracts/exchange.ts'
import type { BodySource } from '../contracts/held-body.ts'
import type { Upstream } from '../contracts/upstream.ts'
import type { DialledStream } from './dialled-stream.ts'

/**
 * An upstream whose address is still being dialled. It buffers the start of the body and applies back-pressure to the
 * rest, so that a request whose body has started can still be sent to another target when the dial fails.
 */
export class DiallingUpstream implements Upstream, BodySource {
  readonly #inner: Upstream
  #pendingBody: ByteQueue | undefined = new ByteQueue()
  #pendingTrailers: string | undefined

  constructor(exchange: Exchange, inner: Upstream, stream: DialledStream) {
    this.#inner = inner
    stream.onConnected = () => {
      this.sendTo(inner)
      this.#pendingBody = undefined
      exchange.resumeBody()
    }
    stream.onDialFailed = () => {
      exchange.bodySent = false
      exchange.heldBody = this
    }
  }

  get reused(): boolean {
    return this.#inner.reused
  }

  get retainsChunks(): boolean {
    return this.#inner.retainsChunks
  }

  writeBody(chunk: Buffer): boolean {
    if (this.#pendingBody === undefined) return this.#inner.writeBody(chunk)
    this.#pendingBody.push(chunk)
    return false
  }

  endBody(trailers: string): void {
    if (this.#pendingBody === undefined) this.#inner.endBody(trailers)
    else this.#pendingTrailers = trailers
  }

  abort(): void {
    this.#inner.abort()
  }

  consumed(bytes: number): void {
    this.#inner.consumed(bytes)
  }

  sendTo(upstream: Upstream): void {
    if (this.#pendingBody !== undefined && this.#pendingBody.length > 0)
      upstream.writeBody(this.#pendingBody.bytes)
    if (this.#pendingTrailers !== undefined) upstream.endBody(this.#pendingTrailers)
  }
}
