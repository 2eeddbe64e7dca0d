import { ByteQueue } from '../../base/io/streams/byte-queue.ts'
import type { ByteStream } from '../../base/io/streams/stream.ts'
import { StreamLayer } from '../../base/io/streams/stream-layer.ts'

const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')
const MAX_V1_BYTES = 107

/** The length of the leading PROXY header: undefined while it is incomplete, -1 if there is none. */
export function preambleLength(bytes: Buffer): number | undefined {
  if (bytes.length === 0) return undefined
  if (bytes[0] === 0x50) {
    const end = bytes.indexOf('\r\n')
    if (end >= 0 && end + 2 <= MAX_V1_BYTES)
      return bytes.subarray(0, 6).toString('latin1') === 'PROXY ' ? end + 2 : -1
    return end >= 0 || bytes.length >= MAX_V1_BYTES ? -1 : undefined
  }
  const compared = Math.min(bytes.length, SIGNATURE.length)
  if (!bytes.subarray(0, compared).equals(SIGNATURE.subarray(0, compared))) return -1
  if (bytes.length < 16) return undefined
  const length = 16 + bytes.readUInt16BE(14)
  return bytes.length < length ? undefined : length
}

/**
 * Strips the PROXY header from the beginning of a stream: it precedes everything else, TLS included, and must not be
 * parsed as a request. `onPreamble` receives the header and must set the sink of this stream.
 */
export class PreambleStream extends StreamLayer {
  readonly #onPreamble: (preamble: Buffer, stream: ByteStream) => void
  readonly #queue = new ByteQueue()
  #complete = false

  constructor(inner: ByteStream, onPreamble: (preamble: Buffer, stream: ByteStream) => void) {
    super(inner)
    this.#onPreamble = onPreamble
  }

  override onData(chunk: Buffer): void {
    if (this.#complete) {
      this.sink.onData(chunk)
      return
    }
    const bytes = this.#queue.join(chunk)
    const length = preambleLength(bytes)
    if (length === undefined) {
      this.#queue.retain(bytes)
      return
    }
    if (length < 0) {
      this.inner.reset(new Error('The connection does not begin with a PROXY header.'))
      return
    }
    this.#complete = true
    this.#queue.take()
    this.inner.consumed(length)
    this.#onPreamble(Buffer.from(bytes.subarray(0, length)), this)
    if (bytes.length > length) this.sink.onData(bytes.subarray(length))
  }

  override onEnd(): void {
    if (this.#complete) this.sink.onEnd()
    else this.inner.reset(new Error('The connection ended within its PROXY header.'))
  }
}
