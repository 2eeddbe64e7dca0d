import { hash } from 'node:crypto'
import { deleteOldest } from '../../../base/limits/delete-oldest.ts'
import type { RateLease } from '../../services/rate-lease.ts'
import type { SharedCounts } from '../../stats/shared-counts.ts'

/** Keys that are counted at once; beyond, those unused for longest are forgotten. */
export const MAX_KEYS = 100_000

/** Keys of which the other processes are told at once; of further ones they are not told. */
const MAX_UNREPORTED_KEYS = 1000

/** Longer keys are replaced by their hash, so that memory stays bounded whatever visitors send. */
const MAX_KEY_LENGTH = 64

/** A lease is for the requests that wait and this share of those that may still pass, so that large limits are rarely asked about. */
const LEASE_SHARE = 1 / 100

interface Counts {
  /** Index of the window that `current` belongs to. */
  window: number
  current: number
  previous: number
}

/** The key that requests with this text are counted by. */
export function toRateKey(text: string): string {
  return text.length <= MAX_KEY_LENGTH ? text : hash('sha256', text)
}

/**
 * Counts requests by key over a sliding window: those of the current window, and of the one before in proportion to how
 * much of it the sliding window still covers. Times are monotonic milliseconds.
 */
export class RateCounter implements SharedCounts {
  readonly #capacity: number
  readonly #windowMs: number
  readonly #counts = new Map<string, Counts>()
  /** Requests by key that the other processes do not know of. */
  readonly #unreported = new Map<string, number>()
  onCounted: (() => void) | undefined

  constructor(capacity: number, windowMs: number) {
    this.#capacity = capacity
    this.#windowMs = windowMs
  }

  /** Counts a request; returns the milliseconds after which one may pass when this one may not. */
  take(key: string, now: number): number | undefined {
    const counts = this.#countsOf(key, now)
    if (this.#room(counts, now) < 1) return this.#retryAfter(counts, now)
    counts.current++
    this.#countUnreported(key)
    return undefined
  }

  /** The same without counting it. */
  check(key: string, now: number): number | undefined {
    const counts = this.#countsOf(key, now)
    return this.#room(counts, now) < 1 ? this.#retryAfter(counts, now) : undefined
  }

  /** Counts the requests that a worker may admit by itself. */
  lease(key: string, waiting: number, now: number): RateLease {
    const counts = this.#countsOf(key, now)
    const room = Math.floor(this.#room(counts, now))
    if (room < 1) return { count: 0, retryAfterMs: this.#retryAfter(counts, now) }
    const count = Math.min(room, waiting + Math.floor(room * LEASE_SHARE))
    counts.current += count
    return { count, retryAfterMs: 0 }
  }

  takeCounts(): [key: string, count: number][] {
    const unreported = [...this.#unreported]
    this.#unreported.clear()
    return unreported
  }

  addCounts(counts: ReturnType<RateCounter['takeCounts']>, now: number): void {
    for (const [key, count] of counts) this.#countsOf(key, now).current += count
  }

  #countUnreported(key: string): void {
    if (this.onCounted === undefined) return
    if (this.#unreported.size === 0) this.onCounted()
    const count = this.#unreported.get(key) ?? 0
    if (count > 0 || this.#unreported.size < MAX_UNREPORTED_KEYS) this.#unreported.set(key, count + 1)
  }

  #countsOf(key: string, now: number): Counts {
    const window = Math.floor(now / this.#windowMs)
    const known = this.#counts.get(key)
    const counts = known ?? { window, current: 0, previous: 0 }
    if (counts.window !== window) {
      counts.previous = counts.window === window - 1 ? counts.current : 0
      counts.current = 0
      counts.window = window
    }
    // The first key is the one that was used longest ago.
    if (known !== undefined) this.#counts.delete(key)
    else if (this.#counts.size >= MAX_KEYS) deleteOldest(this.#counts)
    this.#counts.set(key, counts)
    return counts
  }

  /** How much of the current window has passed, from 0 to 1. */
  #elapsed(now: number): number {
    return (now % this.#windowMs) / this.#windowMs
  }

  /** How many more requests may pass, with a fraction. */
  #room({ current, previous }: Counts, now: number): number {
    return this.#capacity - previous * (1 - this.#elapsed(now)) - current
  }

  /** When the weighted count has fallen enough, in this window or in the next. */
  #retryAfter({ current, previous }: Counts, now: number): number {
    const room = this.#capacity - 1 - current
    const share = room >= 0 ? 1 - room / previous : 2 - (this.#capacity - 1) / current
    return Math.max(1, (share - this.#elapsed(now)) * this.#windowMs)
  }
}
