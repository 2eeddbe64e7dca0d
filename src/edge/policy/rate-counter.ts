import { hash } from 'node:crypto'
import { deleteOldest } from '../../base/delete-oldest.ts'
import type { SharedCounts } from '../shared-counts.ts'

/** Keys that are counted at once; beyond, those unused for longest are forgotten. */
const MAX_KEYS = 100_000

/** Keys of which the other processes are told at once; of further ones they are not told. */
const MAX_UNREPORTED_KEYS = 1000

/** Longer keys are replaced by their hash, so that memory stays bounded whatever visitors send. */
const MAX_KEY_LENGTH = 64

interface Counts {
  /** Index of the window that `current` belongs to. */
  window: number
  current: number
  previous: number
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
  take(text: string, now: number): number | undefined {
    const key = text.length <= MAX_KEY_LENGTH ? text : hash('sha256', text)
    const counts = this.#countsOf(key, Math.floor(now / this.#windowMs))
    const elapsed = (now % this.#windowMs) / this.#windowMs
    if (counts.previous * (1 - elapsed) + counts.current + 1 <= this.#capacity) {
      counts.current++
      this.#note(key)
      return undefined
    }
    return this.#retryAfter(counts, elapsed)
  }

  takeCounts(): [key: string, count: number][] {
    const unreported = [...this.#unreported]
    this.#unreported.clear()
    return unreported
  }

  addCounts(counts: ReturnType<RateCounter['takeCounts']>, now: number): void {
    for (const [key, count] of counts) this.#countsOf(key, Math.floor(now / this.#windowMs)).current += count
  }

  #note(key: string): void {
    if (this.onCounted === undefined) return
    if (this.#unreported.size === 0) this.onCounted()
    const count = this.#unreported.get(key) ?? 0
    if (count > 0 || this.#unreported.size < MAX_UNREPORTED_KEYS) this.#unreported.set(key, count + 1)
  }

  #countsOf(key: string, window: number): Counts {
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

  /** When the weighted count has fallen enough, in this window or in the next. */
  #retryAfter({ current, previous }: Counts, elapsed: number): number {
    const room = this.#capacity - 1 - current
    const share = room >= 0 ? 1 - room / previous : 2 - (this.#capacity - 1) / current
    return Math.max(1, (share - elapsed) * this.#windowMs)
  }
}
