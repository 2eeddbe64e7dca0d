import type { ByteStream } from '../../base/io/streams/stream.ts'
import { StreamLayer } from '../../base/io/streams/stream-layer.ts'
import type { HttpTap } from '../inspector/http-tap.ts'

/** Forwards data first and copies it to a tap afterwards, so that inspection never delays traffic. */
export class TappedStream extends StreamLayer {
  readonly #tap: HttpTap

  constructor(inner: ByteStream, tap: HttpTap) {
    super(inner)
    this.#tap = tap
  }

  override write(chunk: Buffer): boolean {
    const writable = this.inner.write(chunk)
    this.#tap.pushResponse(chunk)
    return writable
  }

  override end(): void {
    this.inner.end()
    this.#tap.finishResponse()
  }

  override onData(chunk: Buffer): void {
    // The sink may respond within this call (an unreachable upstream does), so the tap sees the request first.
    this.#tap.pushRequest(chunk)
    this.sink.onData(chunk)
  }

  override onClose(error?: Error): void {
    this.sink.onClose(error)
    this.#tap.close()
  }
}
