import type { UnreadBytes, WindowBudget } from '../../base/io/memory/window-budget.ts'
import type { RoundTrip } from '../../base/io/sockets/round-trip.ts'
import type { Clock } from '../../base/values/clock.ts'
import { WINDOW } from './frame.ts'

/**
 * A window that is consumed faster than this many round trips limits its stream. Retransmissions after a loss delay all that
 * follows by one or two round trips, and a window that is consumed within one without loss takes three with it.
 */
const GROW_BELOW_ROUND_TRIPS = 4

/** A quarter of a window that takes longer than this many round trips could be spared. */
const SHRINK_ABOVE_ROUND_TRIPS = 4

/**
 * What a reader must have consumed before its window grows, for each open stream of the session. The kernel buffers of a
 * visitor's connection make a reader that has stopped look fast until they are full: with many streams, that many grown
 * windows could not be taken back.
 */
const GROW_AFTER_BYTES_PER_STREAM = 64 * 1024

/** The most of it: Linux, with a send buffer of 4 MiB at most, takes 4.1 MB for a visitor who reads nothing. */
const MAX_GROW_AFTER_BYTES = 4.5 * 1024 * 1024

/** How long a measured round-trip time stays fresh while windows are in use. */
const SAMPLE_INTERVAL_MS = 10_000

export interface WindowGrowthOptions {
  clock: Clock
  roundTrip: RoundTrip
  maxWindow: number
  /** Of the session. */
  budget: WindowBudget
  /** Takes a sample of the round-trip time; needed where nothing else does. */
  measure: (() => void) | undefined
}

/**
 * Sizes the receive windows of a session's streams by the speed of their readers: a window that is consumed within a
 * few round trips doubles, one that its reader no longer fills shrinks back to the initial size (decision 159).
 */
export class WindowGrowth {
  readonly clock: Clock
  readonly #maxWindow: number
  readonly #roundTrip: RoundTrip
  readonly #budget: WindowBudget
  readonly #measure: (() => void) | undefined
  #measuredAt = Number.NEGATIVE_INFINITY

  constructor({ clock, roundTrip, maxWindow, budget, measure }: WindowGrowthOptions) {
    this.clock = clock
    this.#maxWindow = maxWindow
    this.#roundTrip = roundTrip
    this.#budget = budget
    this.#measure = measure
  }

  /** The unread bytes of the process. */
  get unread(): UnreadBytes {
    return this.#budget.unread
  }

  onOpened(): void {
    this.#budget.streams++
  }

  /** By how much a window grows whose reader consumed all of it in this time, and `consumed` bytes since it began. */
  grow(window: number, elapsedMs: number, consumed: number): number {
    this.refreshRoundTrip()
    const roundTripMs = this.#roundTrip.ms
    if (roundTripMs === undefined || elapsedMs > GROW_BELOW_ROUND_TRIPS * roundTripMs) return 0
    if (consumed < Math.min(this.#budget.streams * GROW_AFTER_BYTES_PER_STREAM, MAX_GROW_AFTER_BYTES))
      return 0
    return this.#budget.grow(window - WINDOW, Math.min(2 * window, this.#maxWindow) - WINDOW)
  }

  /** What a window can do without whose reader took this long for these bytes, about a quarter of it. Freed at once. */
  surplus(window: number, bytes: number, elapsedMs: number): number {
    const roundTripMs = this.#roundTrip.ms
    if (window === WINDOW || roundTripMs === undefined) return 0
    if (elapsedMs <= SHRINK_ABOVE_ROUND_TRIPS * roundTripMs) return 0
    const surplus = Math.min(bytes, window - WINDOW)
    this.#budget.release(surplus)
    return surplus
  }

  /** A stream is closed: its window's surplus is free again. */
  onClosed(window: number): void {
    this.#budget.streams--
    if (window > WINDOW) this.#budget.release(window - WINDOW)
  }

  /** Takes a sample of the round-trip time, unless one is fresh. */
  refreshRoundTrip(): void {
    if (this.#measure === undefined) return
    const now = this.clock.monotonic()
    if (now - this.#measuredAt < SAMPLE_INTERVAL_MS) return
    this.#measuredAt = now
    this.#measure()
  }
}

/** How fast the reader of one window consumes it. */
export class WindowTuner {
  /** Bytes granted in all. */
  #bytes = 0
  /** Bytes granted since `#roundStart`: a full window of them is a round. */
  #roundBytes = 0
  #roundStart = 0
  #grantedAt = 0

  /** Returns by how much a window of this size changes, now that these bytes are granted again. */
  resize(growth: WindowGrowth, window: number, consumed: number): number {
    const now = growth.clock.monotonic()
    const surplus = growth.surplus(window, consumed, now - this.#grantedAt)
    this.#grantedAt = now
    this.#bytes += consumed
    this.#roundBytes += consumed
    if (surplus === 0 && this.#roundBytes < window) return 0
    const change = surplus > 0 ? -surplus : growth.grow(window, now - this.#roundStart, this.#bytes)
    this.#roundStart = now
    this.#roundBytes = 0
    return change
  }
}
