import type { Clock } from '../../base/clock.ts'

const FIRST_MS = 1000
/** Most outages are short: while one is young, agents look often enough to be back within seconds of its end. */
const YOUNG_MS = 60_000
const MAX_YOUNG_MS = 4000
const MAX_MS = 30_000

/**
 * Below what the pause before an attempt is drawn: it doubles from 1 s to 4 s, stays there for the first minute of an
 * outage, and then grows with the outage's age up to 30 s, which it reaches after 7.5 minutes.
 */
export function pauseBound(attempt: number, outageMs: number): number {
  const doubled = FIRST_MS * 2 ** attempt
  return Math.min(doubled, MAX_MS, Math.max(MAX_YOUNG_MS, (outageMs / YOUNG_MS) * MAX_YOUNG_MS))
}

/** Pauses between attempts, drawn at random below a bound (full jitter), so that a crowd of agents spreads itself out. */
export class Backoff {
  readonly #clock: Clock
  readonly #maxMs: number
  readonly #random: () => number
  #attempt = 0
  #since: number | undefined

  constructor(options: { clock: Clock; maxMs?: number; random?: (() => number) | undefined }) {
    this.#clock = options.clock
    this.#maxMs = options.maxMs ?? MAX_MS
    this.#random = options.random ?? Math.random
  }

  /** The next pause. An attempt that took long has waited already: `spentMs` of it count, but for a rest of jitter. */
  next(spentMs = 0): number {
    const now = this.#clock.monotonic()
    this.#since ??= now
    const bound = Math.min(this.#maxMs, pauseBound(this.#attempt, now - this.#since))
    this.#attempt++
    return this.#random() * Math.max(bound - spentMs, Math.min(bound, FIRST_MS))
  }

  /** To be called when a connection has lasted, not when it has merely begun. */
  reset(): void {
    this.#attempt = 0
    this.#since = undefined
  }
}
