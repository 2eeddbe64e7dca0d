import { ByteQueue } from '../../base/io/byte-queue.ts'
import type { Exchange } from '../exchange.ts'
import type { BodySource } from '../held-body.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { DialledStream } from './dialled-stream.ts'

/**
 * An upstream whose address is still being dialled. The first of the body is kept until somebody is there and the rest
 * waits, so that a request whose body has begun can still go elsewhere when nobody is.
 */
export class DiallingUpstream implements Upstream, BodySource {
  readonly #inner: Upstream
  #kept: ByteQueue | undefined = new ByteQueue()
  #trailers: string | undefined

  constructor(exchange: Exchange, inner: Upstream, stream: DialledStream) {
    this.#inner = inner
    stream.onConnected = () => {
      this.sendTo(inner)
      this.#kept = undefined
      exchange.resumeBody()
    }
    stream.onFailed = () => {
      exchange.bodySent = false
      exchange.held = this
    }
  }

  get reused(): boolean {
    return this.#inner.reused
  }

  body(piece: Buffer): boolean {
    if (this.#kept === undefined) return this.#inner.body(piece)
    this.#kept.push(piece)
    return false
  }

  end(trailers: string): void {
    if (this.#kept === undefined) this.#inner.end(trailers)
    else this.#trailers = trailers
  }

  abort(): void {
    this.#inner.abort()
  }

  consumed(bytes: number): void {
    this.#inner.consumed(bytes)
  }

  sendTo(upstream: Upstream): void {
    if (this.#kept !== undefined && this.#kept.length > 0) upstream.body(this.#kept.bytes)
    if (this.#trailers !== undefined) upstream.end(this.#trailers)
  }
}
