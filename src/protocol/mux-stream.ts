import { ByteQueue } from '../base/io/byte-queue.ts'
import { type ByteStream, type StreamSink, silentSink } from '../base/io/stream.ts'
import { ErrorCode, MuxError, WINDOW } from './frame.ts'
import type { MuxSession } from './mux-session.ts'

/** Consumed bytes are granted back in portions of this size: one small frame instead of many. */
const GRANT_BATCH_BYTES = 65_536

/**
 * One two-way stream of a session. What it holds is bounded: at most one window of bytes that came in and were not
 * consumed, and what was handed to `write` after it had returned false.
 */
export class MuxStream implements ByteStream {
  readonly id: number
  /** Set it before the call that hands over the stream returns: bytes follow at once. */
  sink: StreamSink = silentSink
  /** Control traffic (heartbeat, RPC): its bytes overtake the queued data of other streams. */
  urgent = false
  /** Called with the first frame other than RST that the peer sends on this stream: it has seen the opening. */
  onAcknowledged: (() => void) | undefined

  /** Membership in the session's line of streams that wait for their turn to send. */
  queued = false
  nextQueued: MuxStream | undefined

  readonly #session: MuxSession
  #acknowledged = false
  #sendWindow = WINDOW
  #receiveWindow = WINDOW
  #unconsumed = 0
  #ungranted = 0
  /** Made when the first bytes have to wait: most streams never need it. */
  #pending: ByteQueue | undefined
  #allowance = 0
  #blocked = false
  #ended = false
  #finSent = false
  #remoteEnded = false
  #closed = false
  #closeError: Error | undefined

  constructor(session: MuxSession, id: number) {
    this.#session = session
    this.id = id
  }

  /** True once both directions are over. */
  get closed(): boolean {
    return this.#closed
  }

  write(chunk: Buffer): boolean {
    if (this.#closed || this.#ended) return false
    const size = chunk.length
    const sent = this.#hasPending ? 0 : Math.min(size, this.#sendWindow, this.#writableBytes())
    if (sent > 0) {
      this.#sendWindow -= sent
      if (this.#allowance > 0) this.#allowance = Math.max(0, this.#allowance - sent)
      this.#session.sendData(this.id, chunk, sent)
    }
    if (sent < size) {
      // The caller may reuse its memory at once, so what cannot be sent now has to be copied.
      this.#pending ??= new ByteQueue()
      this.#pending.push(chunk.subarray(sent))
    }
    if (!this.#hasPending && this.#sendWindow > 0 && this.#writableBytes() > 0) return true
    this.#blocked = true
    if (this.#sendWindow > 0) this.#session.enqueue(this)
    return false
  }

  end(): void {
    if (this.#ended || this.#closed) return
    this.#ended = true
    // Sent at the end of the turn: a reset that follows at once must not look like an orderly end first.
    if (!this.#hasPending) this.#session.scheduleFin(this)
  }

  reset(error?: Error): void {
    if (this.#closed) return
    const code = error instanceof MuxError ? error.code : ErrorCode.StreamCancelled
    this.#session.sendReset(this.id, code, this.#finSent)
    this.#finish(error ?? new MuxError(code, 'The stream was reset.'))
  }

  consumed(bytes: number): void {
    // Never grant more than was received: a peer's send window must not grow beyond its start.
    const counted = Math.min(bytes, this.#unconsumed)
    this.#unconsumed -= counted
    this.#ungranted += counted
    if (this.#ungranted >= GRANT_BATCH_BYTES) this.grant()
  }

  /** Grants what was consumed without waiting for a full portion. */
  grant(): void {
    if (this.#ungranted === 0 || this.#closed || this.#remoteEnded) return
    this.#session.sendWindow(this.id, this.#ungranted)
    this.#receiveWindow += this.#ungranted
    this.#ungranted = 0
  }

  // What the session calls.

  /** Books the bytes of the opening frame against the peer's window. */
  debitSendWindow(length: number): void {
    this.#sendWindow -= length
  }

  /** Books an arriving frame against our window; answers with the code to refuse it with, or 0. */
  debitReceiveWindow(length: number): number {
    this.#acknowledge()
    if (this.#remoteEnded) return length > 0 ? ErrorCode.StreamClosed : 0
    if (length > this.#receiveWindow) return ErrorCode.FlowControl
    this.#receiveWindow -= length
    return 0
  }

  deliver(chunk: Buffer): void {
    if (this.#closed) return
    this.#unconsumed += chunk.length
    try {
      this.sink.onData(chunk)
    } catch (error) {
      this.fail(error)
    }
  }

  /** The peer's FIN arrived. */
  onRemoteEnd(): void {
    if (this.#closed || this.#remoteEnded) return
    this.#remoteEnded = true
    try {
      this.sink.onEnd()
    } catch (error) {
      this.fail(error)
    }
    if (this.#finSent) this.#finish(undefined)
  }

  /** The peer's RST arrived, or the session ended: nothing is answered. */
  abort(error: Error): void {
    if (!this.#closed) this.#finish(error)
  }

  /** The peer consumed some of what we sent. */
  creditSendWindow(increment: number): void {
    this.#acknowledge()
    this.#sendWindow = Math.min(WINDOW, this.#sendWindow + increment)
    if (this.#blocked || this.#hasPending) this.#session.enqueue(this)
  }

  /** Its turn to send up to `limit` bytes, pending ones first. True when it has more to send and may send it. */
  flush(limit: number): boolean {
    if (this.#closed) return false
    const pending = this.#pending
    if (pending !== undefined && pending.length > 0) {
      const size = Math.min(pending.length, limit, this.#sendWindow)
      if (size > 0) {
        this.#session.sendData(this.id, pending.bytes, size)
        this.#sendWindow -= size
        limit -= size
        // Gives the memory back at once when it is empty: left to the collector, copies pile up to many megabytes.
        pending.drop(size)
      }
      if (pending.length > 0) return this.#sendWindow > 0
      if (this.#ended) {
        this.sendFin()
        return false
      }
    }
    // Without window the sink could only fill up again; the next grant wakes it.
    if (!this.#blocked || this.#sendWindow === 0) return false
    this.#blocked = false
    this.#allowance = limit
    try {
      this.sink.onDrain()
    } catch (error) {
      this.fail(error)
    }
    this.#allowance = 0
    return false
  }

  /** Nothing more comes from us. */
  sendFin(): void {
    if (this.#finSent || this.#closed) return
    this.#finSent = true
    this.#session.sendFin(this.id)
    if (this.#remoteEnded) this.#finish(undefined)
  }

  /** Tells the sink that all is over; the session calls it at the end of the turn. */
  notifyClosed(): void {
    const sink = this.sink
    this.sink = silentSink
    try {
      sink.onClose(this.#closeError)
    } catch (error) {
      this.#session.reportError(error)
    }
  }

  /** A sink threw: a mistake of ours costs this stream, not the session and not the process. */
  fail(error: unknown): void {
    this.#session.reportError(error)
    this.reset(new MuxError(ErrorCode.Internal, 'The stream could not be handled.', { cause: error }))
  }

  get #hasPending(): boolean {
    return this.#pending !== undefined && this.#pending.length > 0
  }

  #writableBytes(): number {
    return this.urgent || this.#session.hasCapacity ? WINDOW : this.#allowance
  }

  #acknowledge(): void {
    if (this.#acknowledged) return
    this.#acknowledged = true
    this.onAcknowledged?.()
  }

  #finish(error: Error | undefined): void {
    if (this.#closed) return
    this.#closed = true
    this.#closeError = error
    this.#pending?.clear()
    this.#session.remove(this)
  }
}
