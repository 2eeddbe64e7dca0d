/** The sender of a frame: the client or the local service. */
export type FrameSource = 'client' | 'server'

/** One captured WebSocket message or control frame, or one server-sent event. */
export interface CapturedFrame {
  /** The sequence number within the exchange, from 1; dropped frames leave a gap at the beginning. */
  readonly index: number
  /** Milliseconds since the epoch. */
  readonly time: number
  readonly from: FrameSource
  readonly kind: 'text' | 'binary' | 'close' | 'ping' | 'pong' | 'event'
  /** The opcode of WebSocket (RFC 6455 section 5.2). */
  readonly opcode?: number
  /** The number of WebSocket frames of the message. */
  readonly fragments?: number
  /** Size of the payload on the wire, in bytes. */
  readonly size: number
  /** The payload, decoded if possible; only its beginning if `truncated`. */
  readonly payload: Buffer
  readonly truncated: boolean
  /** Whether the message was compressed on the wire, and whether `payload` is decompressed. */
  readonly compressed?: boolean
  readonly decoded?: boolean
  /** Name and id of a server-sent event. */
  readonly event?: string
  readonly eventId?: string
}

/** Limits for one payload, and for all frames of one exchange. */
export const MAX_PAYLOAD_BYTES = 16_384
const MAX_LOG_BYTES = 1024 * 1024
/** The memory a frame takes beyond its payload. */
const FRAME_OVERHEAD_BYTES = 256

/** The latest frames of one exchange; beyond the limit, the oldest are dropped and counted. */
export class FrameLog {
  readonly #frames: CapturedFrame[] = []
  /** Memory of the decoders: counted, so that many connections together stay within the limit of the store. */
  #reservedBytes: number
  #firstIndex = 0
  #size = 0
  #total = 0
  #dropped = 0
  /** False once the connection or the event stream has ended. */
  open = true
  /** Why decoding stopped although the connection continues. */
  stopReason: string | undefined

  constructor(reservedBytes = 0) {
    this.#reservedBytes = reservedBytes
  }

  /** Memory in use, in bytes. */
  get size(): number {
    return this.#size + this.#reservedBytes
  }

  /** Ends the log and releases the reserved memory. */
  end(stopped: string | undefined): void {
    this.open = false
    this.stopReason = stopped
    this.#reservedBytes = 0
  }

  /** All frames seen, including dropped ones. */
  get total(): number {
    return this.#total
  }

  get dropped(): number {
    return this.#dropped
  }

  add(frame: Omit<CapturedFrame, 'index'>): void {
    this.#frames.push({ index: ++this.#total, ...frame })
    this.#size += frameBytes(frame)
    while (this.#size > MAX_LOG_BYTES) {
      const oldest = this.#frames[this.#firstIndex]!
      // Leaves a hole: shifting thousands of frames for each dropped one would cost more than parsing them.
      delete this.#frames[this.#firstIndex++]
      this.#size -= frameBytes(oldest)
      this.#dropped++
    }
    if (this.#firstIndex > 1024) {
      this.#frames.splice(0, this.#firstIndex)
      this.#firstIndex = 0
    }
  }

  /** The frames after an index, oldest first. */
  framesAfter(index: number, limit: number = Number.POSITIVE_INFINITY): CapturedFrame[] {
    const skipped = Math.max(0, index - this.#dropped)
    const start = this.#firstIndex + skipped
    return this.#frames.slice(start, Math.min(this.#frames.length, start + limit))
  }
}

function frameBytes(frame: Omit<CapturedFrame, 'index'>): number {
  return (
    FRAME_OVERHEAD_BYTES + frame.payload.length + (frame.event?.length ?? 0) + (frame.eventId?.length ?? 0)
  )
}
