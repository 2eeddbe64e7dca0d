import type { Clock } from '../../base/clock.ts'

const INITIAL_DELAY_MS = 1000
/** Most outages are short: while one is young, agents look often enough to be back within seconds of its end. */
const SHORT_OUTAGE_MS = 60_000
const MAX_SHORT_OUTAGE_DELAY_MS = 4000
const MAX_DELAY_MS = 30_000

/**
 * Below what the pause before an attempt is drawn: it doubles from 1 s to 4 s, stays there for the first minute of an
 * outage, and then grows with the outage's age up to 30 s, which it reaches after 7.5 minutes.
 */
export function maxDelay(attempt: number, outageMs: number): number {
  const doubled = INITIAL_DELAY_MS * 2 ** attempt
  return Math.min(
    doubled,
    MAX_DELAY_MS,
    Math.max(MAX_SHORT_OUTAGE_DELAY_MS, (outageMs / SHORT_OUTAGE_MS) * MAX_SHORT_OUTAGE_DELAY_MS),
  )
}

/** Pauses between attempts, drawn at random below a bound (full jitter), so that a crowd of agents spreads itself out. */
export class Backoff {
  readonly #clock: Clock
  readonly #maxMs: number
  readonly #random: () => number
  #attempt = 0
  #outageStart: number | undefined

  constructor(options: { clock: Clock; maxMs?: number; random?: (() => number) | undefined }) {
    this.#clock = options.clock
    this.#maxMs = options.maxMs ?? MAX_DELAY_MS
    this.#random = options.random ?? Math.random
  }

  /** The next pause. An attempt that took long has waited already: `spentMs` of it count, but for a rest of jitter. */
  next(elapsedMs = 0): number {
    const now = this.#clock.monotonic()
    this.#outageStart ??= now
    const bound = Math.min(this.#maxMs, maxDelay(this.#attempt, now - this.#outageStart))
    this.#attempt++
    return this.#random() * Math.max(bound - elapsedMs, Math.min(bound, INITIAL_DELAY_MS))
  }

  /** To be called when a connection has lasted, not when it has merely begun. */
  reset(): void {
    this.#attempt = 0
    this.#outageStart = undefined
  }
}
