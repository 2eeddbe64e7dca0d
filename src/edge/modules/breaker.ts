import type { SharedCounts } from '../stats/shared-counts.ts'

/** When a breaker trips, and for how long; times in seconds. */
export interface BreakerSettings {
  readonly tripped_duration: number
  readonly rolling_window: number
  readonly num_buckets: number
  readonly volume_threshold: number
  readonly error_threshold_percentage: number
}

/** What another process has seen. */
interface BreakerCounts {
  readonly total: number
  readonly errors: number
  /** A probe has found that the upstream works again. */
  readonly isClosed: boolean
}

export type BreakerDecision = 'allow' | 'block' | 'allow_while_open'

interface Bucket {
  /** Index of the time slot the counts belong to. Counts of an older slot are stale. */
  epoch: number
  total: number
  errors: number
}

/** Counts responses over a rolling window and decides whether requests may pass. Times are monotonic milliseconds. */
export class Breaker implements SharedCounts {
  readonly #settings: BreakerSettings
  readonly #buckets: Bucket[]
  readonly #bucketMs: number
  #openUntil: number | undefined
  #probing = false
  #unreported: BreakerCounts | undefined
  onCounted: (() => void) | undefined

  constructor(settings: BreakerSettings) {
    this.#settings = settings
    this.#buckets = Array.from({ length: settings.num_buckets }, () => ({ epoch: -1, total: 0, errors: 0 }))
    this.#bucketMs = Math.max(1, (settings.rolling_window * 1000) / settings.num_buckets)
  }

  /**
   * Whether a request may pass now. While open, one probe at a time passes once the open period is over. A request that
   * may run for hours, such as an upgrade, is no probe.
   */
  decide(now: number, canProbe: boolean): BreakerDecision {
    if (this.#openUntil === undefined) return 'allow'
    if (this.#probing || !canProbe || now < this.#openUntil) return 'block'
    this.#probing = true
    return 'allow_while_open'
  }

  /** Seconds until the next probe may pass, at least one. */
  retryAfterSeconds(now: number): number {
    return Math.max(1, Math.ceil(((this.#openUntil ?? now) - now) / 1000))
  }

  /** Records the outcome of a request. */
  record(failed: boolean, probing: boolean, now: number): void {
    if (probing) {
      this.#probing = false
      if (failed) this.#trip(now)
      else {
        this.#close()
        this.#record({ total: 0, errors: 0, isClosed: true })
      }
      return
    }
    if (this.#openUntil !== undefined) return
    const errors = failed ? 1 : 0
    this.#count(1, errors, now)
    this.#record({ total: 1, errors, isClosed: false })
  }

  takeCounts(): BreakerCounts | undefined {
    const unreported = this.#unreported
    this.#unreported = undefined
    return unreported
  }

  /** A process that has tripped opens by the counts it sends. */
  addCounts({ total, errors, isClosed }: BreakerCounts, now: number): void {
    if (isClosed) this.#close()
    else if (this.#openUntil === undefined) this.#count(total, errors, now)
  }

  #record({ total, errors, isClosed }: BreakerCounts): void {
    if (this.onCounted === undefined) return
    const unreported = this.#unreported
    if (unreported === undefined) this.onCounted()
    this.#unreported =
      unreported === undefined || isClosed
        ? { total, errors, isClosed }
        : { ...unreported, total: unreported.total + total, errors: unreported.errors + errors }
  }

  #count(total: number, errors: number, now: number): void {
    const bucket = this.#currentBucket(now)
    bucket.total += total
    bucket.errors += errors
    if (errors > 0 && this.#shouldTrip(now)) this.#trip(now)
  }

  /** Releases a probe that ended without a response. */
  cancel(probing: boolean): void {
    if (probing) this.#probing = false
  }

  #shouldTrip(now: number): boolean {
    const epoch = Math.floor(now / this.#bucketMs)
    let total = 0
    let errors = 0
    for (const bucket of this.#buckets) {
      if (epoch - bucket.epoch >= this.#buckets.length) continue
      total += bucket.total
      errors += bucket.errors
    }
    const { volume_threshold, error_threshold_percentage } = this.#settings
    return total >= volume_threshold && errors >= error_threshold_percentage * total
  }

  #trip(now: number): void {
    this.#openUntil = now + this.#settings.tripped_duration * 1000
  }

  #close(): void {
    this.#openUntil = undefined
    for (const bucket of this.#buckets) bucket.epoch = -1
  }

  #currentBucket(now: number): Bucket {
    const epoch = Math.floor(now / this.#bucketMs)
    const bucket = this.#buckets[epoch % this.#buckets.length]!
    if (bucket.epoch !== epoch) {
      bucket.epoch = epoch
      bucket.total = 0
      bucket.errors = 0
    }
    return bucket
  }
}
