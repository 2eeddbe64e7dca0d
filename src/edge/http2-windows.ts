import { constants, type Http2Session, type Http2Stream } from 'node:http2'
import type { WindowBudget } from '../base/io/memory/window-budget.ts'
import { RoundTrip } from '../base/io/sockets/round-trip.ts'
import { coalescePausedReads } from '../base/io/streams/coalesced-reads.ts'
import type { Clock } from '../base/values/clock.ts'

/** The initial window of a connection's streams. */
export const STREAM_WINDOW_BYTES = 64 * 1024

/** The least window of a connection as a whole. */
const CONNECTION_WINDOW_BYTES = 1024 * 1024

const MAX_WINDOW_BYTES = 16 * 1024 * 1024

/** Node's buffer of a paused stream, and the frame that crosses it: granted anew before the stream is paused. */
const READ_AHEAD_BYTES = 80 * 1024

/** What an unread stream holds with the initial window. */
const STREAM_BASE_BYTES = STREAM_WINDOW_BYTES + READ_AHEAD_BYTES

/** A window that is consumed faster than this many round trips limits its connection, also when packets are lost. */
const GROW_BELOW_ROUND_TRIPS = 4

/** Half of a window that takes longer than this many round trips could be spared. */
const SHRINK_ABOVE_ROUND_TRIPS = 16

/** How long a measured round-trip time stays fresh while bodies arrive. */
const SAMPLE_INTERVAL_MS = 10_000

export interface Http2WindowsOptions {
  session: Http2Session
  clock: Clock
  budget: WindowBudget
}

/**
 * Sizes the receive windows of one HTTP/2 connection by the speed of its readers (decision 195).
 *
 * Node knows one window size for all streams of a connection (SETTINGS_INITIAL_WINDOW_SIZE), and grants the connection's
 * own window anew as soon as bytes arrive. So one size serves both: it doubles when the streams together consume it
 * within four round trips, and halves when that takes them sixteen.
 *
 * The share of the budget covers what the peer could make us hold beyond the initial windows: what is unread now, plus
 * one connection window that may arrive before the peer has seen a smaller size. When the budget has no more, because
 * readers stopped, the size falls back to the initial one; a peer that does not follow is disconnected.
 */
export class Http2Windows {
  readonly #session: Http2Session
  readonly #clock: Clock
  readonly #budget: WindowBudget
  readonly #roundTrip = new RoundTrip()
  #measuredAt = Number.NEGATIVE_INFINITY
  /** The largest size that the peer may still use. */
  #size = STREAM_WINDOW_BYTES
  /** The size that was sent last; smaller than `#size` until the peer acknowledges it. */
  #sentSize = STREAM_WINDOW_BYTES
  #share = 0
  #streams = 0
  #unread = 0
  /** Without the initial windows: a peer that exceeds it does not obey the size it was sent. */
  #maxUnread = Number.POSITIVE_INFINITY
  #roundBytes = 0
  #roundStart = 0

  constructor({ session, clock, budget }: Http2WindowsOptions) {
    this.#session = session
    this.#clock = clock
    this.#budget = budget
    const setConnectionWindow = () => session.setLocalWindowSize(CONNECTION_WINDOW_BYTES)
    if (session.connecting) session.once('connect', setConnectionWindow)
    else setConnectionWindow()
    session.once('close', () => this.#release())
  }

  /** Counts the bytes of a stream from now on; its reader calls `consumed`. */
  track(stream: Http2Stream): StreamReads {
    this.#streams++
    const reads = new StreamReads(this, stream)
    coalescePausedReads(
      stream,
      (bytes) => reads.onBuffered(bytes),
      () => reads.onEnd(),
    )
    stream.once('close', () => {
      this.#streams--
      reads.onBuffered(0)
    })
    this.#settle()
    return reads
  }

  /** A reader consumed bytes. */
  onConsumed(bytes: number): void {
    this.#roundBytes += bytes
    if (this.#roundBytes < this.#sentSize || this.#session.destroyed) return
    const now = this.#clock.monotonic()
    const elapsed = now - this.#roundStart
    this.#roundStart = now
    this.#roundBytes = 0
    this.#measure(now)
    const roundTripMs = this.#roundTrip.ms
    // One change at a time: its effect shows once the peer has acknowledged it.
    if (roundTripMs === undefined || this.#session.pendingSettingsAck) return
    if (elapsed <= GROW_BELOW_ROUND_TRIPS * roundTripMs) this.#grow()
    else if (elapsed > SHRINK_ABOVE_ROUND_TRIPS * roundTripMs) this.#shrink(this.#size / 2)
  }

  /** The unread bytes of a stream changed. */
  onUnread(change: number): void {
    this.#unread += change
    this.#settle()
    if (this.#unread <= this.#maxUnread + this.#streams * STREAM_BASE_BYTES) return
    const excess = new Error('The HTTP/2 peer ignores the windows that it was sent.')
    this.#session.destroy(excess, constants.NGHTTP2_ENHANCE_YOUR_CALM)
  }

  #grow(): void {
    const size = Math.min(2 * this.#size, MAX_WINDOW_BYTES)
    if (size === this.#size || !this.#reserve(this.#exposure(size))) return
    this.#size = size
    this.#maxUnread = Number.POSITIVE_INFINITY
    this.#send(size, () => {})
  }

  #shrink(target: number): void {
    const size = Math.max(target, STREAM_WINDOW_BYTES)
    if (size >= this.#sentSize) return
    this.#maxUnread = this.#unread + connectionWindow(this.#size)
    this.#send(size, () => {
      if (this.#sentSize !== size) return
      this.#size = size
      this.#settle()
    })
  }

  #send(size: number, onAcknowledged: () => void): void {
    this.#sentSize = size
    this.#session.settings({ initialWindowSize: size }, (error) => {
      if (error === null && !this.#session.destroyed) onAcknowledged()
    })
    this.#session.setLocalWindowSize(connectionWindow(size))
  }

  /** Adjusts the share to what the peer could make us hold; falls back to the initial size when the budget has no more. */
  #settle(): void {
    if (this.#size === STREAM_WINDOW_BYTES && this.#unread === 0 && this.#share === 0) return
    if (this.#session.destroyed) return
    if (!this.#reserve(this.#exposure(this.#size))) this.#shrink(STREAM_WINDOW_BYTES)
  }

  /** The most bytes that the peer could make us hold with windows of this size, beyond the initial windows. */
  #exposure(size: number): number {
    const allWindows = this.#streams * (size + READ_AHEAD_BYTES)
    const arriving = Math.min(this.#unread + connectionWindow(size), allWindows)
    return Math.max(0, Math.max(this.#unread, arriving) - this.#streams * STREAM_BASE_BYTES)
  }

  #reserve(bytes: number): boolean {
    if (bytes <= this.#share) this.#budget.release(this.#share - bytes)
    else {
      const added = this.#budget.grow(this.#share, bytes)
      if (this.#share + added < bytes) {
        this.#budget.release(added)
        return false
      }
    }
    this.#share = bytes
    return true
  }

  #measure(now: number): void {
    if (now - this.#measuredAt < SAMPLE_INTERVAL_MS) return
    this.#measuredAt = now
    this.#session.ping((error, milliseconds) => {
      if (error === null) this.#roundTrip.add(milliseconds)
    })
  }

  #release(): void {
    this.#budget.release(this.#share)
    this.#share = 0
  }
}

/** The bytes of one stream between its arrival and its reader. */
export class StreamReads {
  readonly #windows: Http2Windows
  readonly #stream: Http2Stream
  #unread = 0
  #complete: boolean

  constructor(windows: Http2Windows, stream: Http2Stream) {
    this.#windows = windows
    this.#stream = stream
    // A short body may have arrived together with its head, before Node has announced the stream.
    this.#complete = !stream.closed && stream.state.remoteClose === 1
  }

  /** The peer has ended the stream. Node also emits "end" after a reset, but then the message is not complete (P18). */
  get complete(): boolean {
    return this.#complete
  }

  consumed(bytes: number): void {
    this.#windows.onConsumed(bytes)
    if (this.#unread > 0) this.onBuffered(Math.max(0, this.#unread - bytes))
  }

  /** Nothing more arrives. Node closes a stream that was reset before it ends its readable side. */
  onEnd(): void {
    if (!this.#stream.closed) this.#complete = true
  }

  /** So many bytes wait for the reader now. */
  onBuffered(bytes: number): void {
    const change = bytes - this.#unread
    this.#unread = bytes
    this.#windows.onUnread(change)
  }
}

function connectionWindow(size: number): number {
  return Math.max(CONNECTION_WINDOW_BYTES, size)
}
