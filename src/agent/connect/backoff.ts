import type { Clock } from '../../base/values/clock.ts'

const INITIAL_DELAY_MS = 1000
/** Most outages are short: during the first minute agents retry often enough to be back within seconds. */
const SHORT_OUTAGE_MS = 60_000
const MAX_SHORT_OUTAGE_DELAY_MS = 4000
const MAX_DELAY_MS = 30_000

/**
 * Upper bound of the delay before an attempt: it doubles from 1 s to 4 s, stays there for the first minute of an
 * outage, and then grows with the outage's age to 30 s, reached after 7.5 minutes.
 */
export function maxDelay(attempt: number, outageMs: number): number {
  const doubled = INITIAL_DELAY_MS * 2 ** attempt
  return Math.min(
    doubled,
    MAX_DELAY_MS,
    Math.max(MAX_SHORT_OUTAGE_DELAY_MS, (outageMs / SHORT_OUTAGE_MS) * MAX_SHORT_OUTAGE_DELAY_MS),
  )
}

/** Delays between attempts with full jitter, so that many agents do not reconnect at the same moment. */
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

  /** Whether nothing has failed since the last stable connection. */
  get isFirst(): boolean {
    return this.#attempt === 0
  }

  /** The next delay. The duration of the last attempt counts towards it, but some jitter always remains. */
  next(elapsedMs = 0): number {
    const now = this.#clock.monotonic()
    this.#outageStart ??= now
    const bound = Math.min(this.#maxMs, maxDelay(this.#attempt, now - this.#outageStart))
    this.#attempt++
    return this.#random() * Math.max(bound - elapsedMs, Math.min(bound, INITIAL_DELAY_MS))
  }

  /** Call this once a connection has been stable, not as soon as it is established. */
  reset(): void {
    this.#attempt = 0
    this.#outageStart = undefined
  }
}
