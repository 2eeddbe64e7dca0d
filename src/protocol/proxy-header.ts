import { ByteQueue } from '../base/io/streams/byte-queue.ts'
import type { StreamSink } from '../base/io/streams/stream.ts'
import { ErrorCode, MuxError } from './mux/frame.ts'
import type { MuxStream } from './mux/mux-stream.ts'
import { StreamType, typeBytes } from './mux/stream-type.ts'

/** The header of a proxied stream, before the client's bytes. All five fields are always sent. */
export interface ProxyHeader {
  /** The bind or labelled tunnel the connection is for. */
  Id: string
  /** `ip:port` of the client, IPv6 in brackets. */
  ClientAddr: string
  Proto: string
  /** `0` for binds; for labelled tunnels the kind of edge: `1` TCP, `2` TLS, `3` HTTPS. */
  EdgeType: string
  PassthroughTLS: boolean
}

const LENGTH_BYTES = 8
const MAX_HEADER_BYTES = 65_536

/** Type, length, header and preamble as one buffer: they must travel in the SYN frame. */
export function encodeProxyHeader(header: ProxyHeader, preamble?: Buffer): Buffer {
  const json = Buffer.from(JSON.stringify(header))
  const bytes = typeBytes(StreamType.Proxy, LENGTH_BYTES + json.length + (preamble?.length ?? 0))
  // The length alone is little-endian.
  bytes.writeUInt32LE(json.length, 4)
  bytes.writeUInt32LE(0, 8)
  json.copy(bytes, 12)
  preamble?.copy(bytes, 12 + json.length)
  return bytes
}

/** Reads the header of a proxied stream after its type, then passes the stream on. */
export class ProxyHeaderReader implements StreamSink {
  readonly #stream: MuxStream
  readonly #onProxy: (header: ProxyHeader, stream: MuxStream) => void
  readonly #buffer = new ByteQueue()

  constructor(stream: MuxStream, onProxy: (header: ProxyHeader, stream: MuxStream) => void) {
    this.#stream = stream
    this.#onProxy = onProxy
  }

  onData(chunk: Buffer): void {
    // Normally the first chunk holds the whole header; a split header is buffered, up to 64 KiB.
    const bytes = this.#buffer.join(chunk)
    if (bytes.length < LENGTH_BYTES) {
      this.#buffer.retain(bytes)
      return
    }
    const length = bytes.readUInt32LE(0)
    if (bytes.readUInt32LE(4) !== 0 || length > MAX_HEADER_BYTES) {
      this.#reject('The proxy header is too long.')
      return
    }
    const end = LENGTH_BYTES + length
    if (bytes.length < end) {
      this.#buffer.retain(bytes)
      return
    }
    const header = parseHeader(bytes.toString('utf8', LENGTH_BYTES, end))
    if (header === undefined) {
      this.#reject('The proxy header is not valid.')
      return
    }
    this.#stream.consumed(end)
    this.#onProxy(header, this.#stream)
    if (bytes.length > end) this.#stream.sink.onData(bytes.subarray(end))
  }

  onEnd(): void {
    this.#reject('The stream ended inside its proxy header.')
  }

  onDrain(): void {}
  onClose(): void {}

  #reject(reason: string): void {
    this.#stream.reset(new MuxError(ErrorCode.Protocol, reason))
  }
}

function parseHeader(text: string): ProxyHeader | undefined {
  let value: Partial<ProxyHeader>
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  const { Id, ClientAddr, Proto, EdgeType, PassthroughTLS } = value
  if (typeof Id !== 'string' || typeof ClientAddr !== 'string' || typeof Proto !== 'string') return undefined
  if (typeof EdgeType !== 'string' || typeof PassthroughTLS !== 'boolean') return undefined
  return { Id, ClientAddr, Proto, EdgeType, PassthroughTLS }
}
