/** Who sent a frame: the visitor or the local service. */
export type FrameSource = 'client' | 'server'

/** One WebSocket message or control frame, or one server-sent event, as it passed. */
export interface CapturedFrame {
  /** Counts up within its exchange, from 1; what was dropped leaves a gap at the beginning. */
  readonly index: number
  /** Milliseconds since the epoch. */
  readonly time: number
  readonly from: FrameSource
  readonly kind: 'text' | 'binary' | 'close' | 'ping' | 'pong' | 'event'
  /** The opcode of WebSocket (RFC 6455 section 5.2). */
  readonly opcode?: number
  /** WebSocket frames the message came in. */
  readonly fragments?: number
  /** Bytes of the payload on the wire. */
  readonly size: number
  /** The payload, decoded if possible; only its beginning when `truncated`. */
  readonly payload: Buffer
  readonly truncated: boolean
  /** The message was compressed on its way; `decoded` when that was undone for looking at. */
  readonly compressed?: boolean
  readonly decoded?: boolean
  /** Name and id of a server-sent event. */
  readonly event?: string
  readonly eventId?: string
}

/** The most that is kept of one payload, and of all frames of one exchange. */
export const MAX_PAYLOAD_BYTES = 16_384
const MAX_LOG_BYTES = 1024 * 1024
/** What a frame costs beyond its payload. */
const FRAME_OVERHEAD_BYTES = 256

/** The latest frames of one exchange, the oldest dropped and counted once they weigh too much. */
export class FrameLog {
  readonly #frames: CapturedFrame[] = []
  /** What reading them takes besides: counted, so that many connections cannot take more than was allowed. */
  #reservedBytes: number
  #first = 0
  #size = 0
  #total = 0
  #dropped = 0
  /** False once the connection, or the stream of events, has ended. */
  open = true
  /** Why nothing more is read although the connection goes on. */
  stopReason: string | undefined

  constructor(reservedBytes = 0) {
    this.#reservedBytes = reservedBytes
  }

  /** Bytes held in memory. */
  get size(): number {
    return this.#size + this.#reservedBytes
  }

  /** No more frames come. */
  end(stopped: string | undefined): void {
    this.open = false
    this.stopReason = stopped
    this.#reservedBytes = 0
  }

  /** Frames that passed, kept or not. */
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
      const oldest = this.#frames[this.#first]!
      // A hole keeps nothing; moving thousands of frames for each one dropped would cost more than reading them.
      delete this.#frames[this.#first++]
      this.#size -= frameBytes(oldest)
      this.#dropped++
    }
    if (this.#first > 1024) {
      this.#frames.splice(0, this.#first)
      this.#first = 0
    }
  }

  /** Those after an index, oldest first, at most so many. */
  after(index: number, limit: number = Number.POSITIVE_INFINITY): CapturedFrame[] {
    const skipped = Math.max(0, index - this.#dropped)
    const start = this.#first + skipped
    return this.#frames.slice(start, Math.min(this.#frames.length, start + limit))
  }
}

function frameBytes(frame: Omit<CapturedFrame, 'index'>): number {
  return (
    FRAME_OVERHEAD_BYTES + frame.payload.length + (frame.event?.length ?? 0) + (frame.eventId?.length ?? 0)
  )
}
