import { deleteOldest } from '../../../base/limits/delete-oldest.ts'
import type { Clock } from '../../../base/values/clock.ts'
import type { RateLease, RateLeaseRequest, TakeRateLease } from '../../services/rate-lease.ts'
import { MAX_KEYS, RateCounter } from './rate-counter.ts'

/** How long requests of a lease may be admitted: a fraction of the shortest window, which is a minute. */
const LEASE_MS = 1000

/** If the process that counts for all workers takes longer or is not reached, this worker decides by what it knows. */
const MAX_WAIT_MS = 250

/** What this worker may admit of one key. */
interface KeyLease {
  count: number
  expiresAt: number
  /** Until then, no worker may admit any. */
  blockedUntil: number
  /** Requests that wait for the next lease. */
  waiting: number
  /** Resolves with the next lease. */
  renewal: Promise<void> | undefined
}

/**
 * The rate limit of one of several workers, which together admit no more than its capacity: each asks the process that
 * counts for all of them. What other nodes admit becomes known a moment later, as without workers.
 */
export class LeasedCounter extends RateCounter {
  readonly #limit: Omit<RateLeaseRequest, 'key' | 'count'>
  readonly #takeRateLease: TakeRateLease
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #leases = new Map<string, KeyLease>()

  constructor(
    limit: Omit<RateLeaseRequest, 'key' | 'count'>,
    { takeRateLease, clock }: { takeRateLease: TakeRateLease; clock: Pick<Clock, 'monotonic'> },
  ) {
    super(limit.capacity, limit.windowMs)
    this.#limit = limit
    this.#takeRateLease = takeRateLease
    this.#clock = clock
  }

  /** As `take`, with the requests of all workers. */
  async takeLeased(key: string): Promise<number | undefined> {
    const lease = this.#leaseOf(key)
    lease.waiting++
    try {
      for (;;) {
        const now = this.#clock.monotonic()
        const retryAfterMs = this.check(key, now)
        if (retryAfterMs !== undefined) return retryAfterMs
        if (now < lease.blockedUntil) return lease.blockedUntil - now
        if (lease.count > 0 && now < lease.expiresAt) {
          lease.count--
          return this.take(key, now)
        }
        lease.renewal ??= this.#renew(key, lease)
        await lease.renewal
      }
    } finally {
      lease.waiting--
    }
  }

  async #renew(key: string, lease: KeyLease): Promise<void> {
    const { waiting } = lease
    const { promise, resolve } = Promise.withResolvers<RateLease>()
    const decideAlone = () => resolve({ count: waiting, retryAfterMs: 0 })
    const timer = setTimeout(decideAlone, MAX_WAIT_MS).unref()
    this.#takeRateLease({ ...this.#limit, key, count: waiting }).then(resolve, decideAlone)
    const { count, retryAfterMs } = await promise
    clearTimeout(timer)
    const now = this.#clock.monotonic()
    lease.count = count
    lease.expiresAt = now + LEASE_MS
    if (count === 0) lease.blockedUntil = now + retryAfterMs
    lease.renewal = undefined
  }

  #leaseOf(key: string): KeyLease {
    const known = this.#leases.get(key)
    if (known !== undefined) return known
    if (this.#leases.size >= MAX_KEYS) deleteOldest(this.#leases)
    const lease = { count: 0, expiresAt: 0, blockedUntil: 0, waiting: 0, renewal: undefined }
    this.#leases.set(key, lease)
    return lease
  }
}
