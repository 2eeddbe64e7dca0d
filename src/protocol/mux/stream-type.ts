import type { StreamSink } from '../../base/io/streams/stream.ts'
import { ErrorCode, MuxError } from './frame.ts'
import type { MuxStream } from './mux-stream.ts'

/** The purpose of a stream: the first four bytes its opener writes. Numbers are never reused. */
export const StreamType = {
  Auth: 0,
  Bind: 1,
  Unbind: 2,
  Proxy: 3,
  Restart: 4,
  Stop: 5,
  Update: 6,
  StartTunnelWithLabel: 7,
  SrvInfo: 8,
  StopTunnel: 9,
  PatchTunnelState: 10,
  ConnectAddresses: 11,
  Move: 12,
  Heartbeat: 0xffff_ffff,
} as const

const TYPE_BYTES = 4

/** The four type bytes, with room for `extraBytes` after them. */
export function typeBytes(type: number, extraBytes = 0): Buffer {
  const bytes = Buffer.allocUnsafe(TYPE_BYTES + extraBytes)
  bytes.writeUInt32BE(type, 0)
  return bytes
}

/**
 * Reads the type of an incoming stream, then passes the stream on. A peer that sends the four bytes slowly blocks no other
 * stream.
 */
export class TypeReader implements StreamSink {
  readonly #stream: MuxStream
  readonly #onTyped: (type: number, stream: MuxStream) => void
  readonly #timer: NodeJS.Timeout | undefined
  #type = 0
  #remaining = TYPE_BYTES

  /** Untrusted peers have `timeoutMs` to send the type. */
  constructor(
    stream: MuxStream,
    onTyped: (type: number, stream: MuxStream) => void,
    timeoutMs?: number | undefined,
  ) {
    this.#stream = stream
    this.#onTyped = onTyped
    if (timeoutMs === undefined) return
    this.#timer = setTimeout(() => this.#reject(`The stream sent no type within ${timeoutMs} ms.`), timeoutMs)
    this.#timer.unref()
  }

  onData(chunk: Buffer): void {
    let offset = 0
    while (this.#remaining > 0 && offset < chunk.length) {
      this.#type = this.#type * 256 + chunk[offset++]!
      this.#remaining--
    }
    if (this.#remaining > 0) return
    clearTimeout(this.#timer)
    this.#stream.consumed(TYPE_BYTES)
    this.#onTyped(this.#type, this.#stream)
    if (offset < chunk.length) this.#stream.sink.onData(chunk.subarray(offset))
  }

  onEnd(): void {
    this.#reject('The stream ended before its type was complete.')
  }

  onDrain(): void {}

  onClose(): void {
    clearTimeout(this.#timer)
  }

  #reject(reason: string): void {
    clearTimeout(this.#timer)
    this.#stream.reset(new MuxError(ErrorCode.Protocol, reason))
  }
}
