import { ByteQueue } from '../../base/io/streams/byte-queue.ts'
import { type ByteStream, type StreamSink, silentSink } from '../../base/io/streams/stream.ts'
import { ErrorCode, MuxError, WINDOW } from './frame.ts'
import type { MuxSession } from './mux-session.ts'
import { type WindowGrowth, WindowTuner } from './window-growth.ts'

/** Consumed bytes are granted back in batches of this part of the window: one WNDINC frame instead of many. */
const GRANT_BATCH = 1 / 4

/**
 * One bidirectional stream of a session. Its memory is bounded: at most one window of unconsumed input, plus what the
 * caller passed to `write` after it returned false.
 *
 *   send half                                            receive half
 *
 *   OPEN                                                 OPEN  admits DATA within #receiveWindow,
 *    |  end()                                             |    else RST 3 (FlowControl)
 *    v                                                    |  FIN received: sink.onEnd()
 *   ENDED  #ended: no more writes                         v
 *    |  #pending empty, end of tick: FIN sent            REMOTE ENDED  #remoteEnded: more DATA is RST 4
 *    v
 *   FIN SENT  #finSent
 *
 *   FIN SENT and REMOTE ENDED ----------------------------+
 *   reset(), a sink that throws, a window violation: RST -+--> CLOSED  #closed: left the session's table, #pending
 *   RST received, session closed: abort(), no RST --------+            dropped; sink.onClose(#closeError) at the end
 *                                                                      of the tick, then the sink is silent
 *
 *   Credit while the send half is not FIN SENT:
 *
 *   WRITABLE  #sendWindow > 0, nothing pending, session has capacity: write() sends and returns true
 *    |  write() uses up the window or the session's capacity; unsent bytes are copied to #pending
 *    v
 *   BLOCKED   #blocked: write() returned false
 *    |  capacity missing: queued at once (`queued`); window empty: queued by WNDINC (creditSendWindow)
 *    v
 *   QUEUED    served round-robin by the session: flush() sends #pending, then sink.onDrain() with #allowance bytes
 *    |  pending sent: WRITABLE, or FIN when #ended; window used up: waits for the next WNDINC; else queued again
 *
 * The opposite direction: consumed() returns credit to the peer in batches, as WNDINC, until REMOTE ENDED or CLOSED.
 * Where the peers agreed on it, a batch is larger or smaller than what was consumed, and the window grows or shrinks by
 * the difference (WindowGrowth).
 */
export class MuxStream implements ByteStream {
  readonly id: number
  /** Must be set before the call that provides the stream returns: bytes follow at once. */
  sink: StreamSink = silentSink
  /** Control traffic (heartbeat, RPC): overtakes the queued data of other streams. */
  urgent = false
  /** Called at the first frame other than RST from the peer: it has seen the SYN. */
  onAcknowledged: (() => void) | undefined
  onNote: ((payload: Buffer) => void) | undefined

  /** Intrusive links of the session's send queue. */
  queued = false
  nextQueued: MuxStream | undefined

  readonly #session: MuxSession
  /** Undefined for streams that are older than the agreement on windows: theirs stay as they are. */
  readonly #windowGrowth: WindowGrowth | undefined
  #acknowledged = false
  #sendWindow = WINDOW
  #receiveWindow = WINDOW
  /** The size of the receive window when all of it is granted. */
  #windowSize = WINDOW
  #unconsumed = 0
  #ungranted = 0
  /** Created with the first grant: most streams never need one. */
  #windowTuner: WindowTuner | undefined
  /** Created when bytes first have to wait: most streams never need it. */
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
    this.#windowGrowth = session.windowGrowth
    this.#windowGrowth?.onOpened()
    this.id = id
  }

  /** True once both directions have ended. */
  get closed(): boolean {
    return this.#closed
  }

  /** True from a `write` that returned false until `onDrain`. */
  get blocked(): boolean {
    return this.#blocked
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
      // Copied: the caller may reuse its memory at once.
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
    // Sent at the end of the tick: a reset in the same tick must not look like an orderly end first.
    if (!this.#hasPending) this.#session.scheduleFin(this)
  }

  reset(error?: Error): void {
    if (this.#closed) return
    const code = error instanceof MuxError ? error.code : ErrorCode.StreamCancelled
    this.#session.sendReset(this.id, code, this.#finSent)
    this.#finish(error ?? new MuxError(code, 'The stream was reset.'))
  }

  consumed(bytes: number): void {
    // Never grant more than was received: the peer's send window must not exceed its initial size.
    const counted = Math.min(bytes, this.#unconsumed)
    this.#unconsumed -= counted
    this.#windowGrowth?.unread.add(-counted)
    this.#ungranted += counted
    const heldBack = this.#heldBack
    if (this.#ungranted - heldBack >= (this.#windowSize - heldBack) * GRANT_BATCH) this.grant()
  }

  /** Grants what was consumed without waiting for a full batch. */
  grant(): void {
    const bytes = this.#ungranted - this.#heldBack
    if (bytes <= 0 || this.#closed || this.#remoteEnded) return
    const growth = this.#windowGrowth
    const increment = bytes + (growth === undefined ? 0 : this.#resize(growth, bytes))
    this.#ungranted -= bytes
    if (increment === 0) return
    this.#session.sendWindow(this.id, increment)
    this.#receiveWindow += increment
  }

  get takesNotes(): boolean {
    return this.#session.sendsNotes
  }

  sendNote(payload: Buffer): void {
    if (this.takesNotes && !this.#closed && !this.#finSent) this.#session.sendNote(this.id, payload)
  }

  // Called by the session.

  deliverNote(payload: Buffer): void {
    if (this.#closed || this.#remoteEnded) return
    try {
      this.onNote?.(payload)
    } catch (error) {
      this.fail(error)
    }
  }

  /** Debits the bytes of the SYN frame from the send window. */
  debitSendWindow(length: number): void {
    this.#sendWindow -= length
  }

  /** Debits an arriving frame from the receive window; returns the error code that rejects it, or 0. */
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
    this.#windowGrowth?.unread.add(chunk.length)
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

  /** The peer's RST arrived, or the session ended: sends nothing. */
  abort(error: Error): void {
    if (!this.#closed) this.#finish(error)
  }

  /** The peer consumed some of what we sent. */
  creditSendWindow(increment: number): void {
    this.#acknowledge()
    this.#sendWindow = Math.min(this.#session.maxSendWindow, this.#sendWindow + increment)
    if (this.#blocked || this.#hasPending) this.#session.enqueue(this)
  }

  /** Sends up to `limit` bytes, pending ones first. True when more is pending and the window allows it. */
  flush(limit: number): boolean {
    if (this.#closed) return false
    const pending = this.#pending
    if (pending !== undefined && pending.length > 0) {
      const size = Math.min(pending.length, limit, this.#sendWindow)
      if (size > 0) {
        this.#session.sendData(this.id, pending.bytes, size)
        this.#sendWindow -= size
        limit -= size
        pending.drop(size)
      }
      if (pending.length > 0) return this.#sendWindow > 0
      if (this.#ended) {
        this.sendFin()
        return false
      }
    }
    // Without window the sink could only block again; the next WNDINC queues the stream.
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

  /** Ends the send half. */
  sendFin(): void {
    if (this.#finSent || this.#closed) return
    this.#finSent = true
    this.#session.sendFin(this.id)
    if (this.#remoteEnded) this.#finish(undefined)
  }

  /** Calls the sink's `onClose`; at the end of the tick. */
  notifyClosed(): void {
    const sink = this.sink
    this.sink = silentSink
    try {
      sink.onClose(this.#closeError)
    } catch (error) {
      this.#session.reportError(error)
    }
  }

  /** A sink threw: a bug costs this stream, not the session or the process. */
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

  /** Consumed bytes that are not granted for now. */
  get #heldBack(): number {
    return this.#windowGrowth?.unread.heldBack ?? 0
  }

  /** Adjusts the window's size to the reader's speed and returns the change. */
  #resize(growth: WindowGrowth, consumed: number): number {
    this.#windowTuner ??= new WindowTuner()
    const change = this.#windowTuner.resize(growth, this.#windowSize, consumed)
    this.#windowSize += change
    return change
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
    this.#windowGrowth?.unread.add(-this.#unconsumed)
    this.#unconsumed = 0
    this.#windowGrowth?.onClosed(this.#windowSize)
    this.#session.remove(this)
  }
}
