import { deleteOldest } from '../../../base/limits/delete-oldest.ts'
import type { Clock } from '../../../base/values/clock.ts'
import type { RateLease, RateLeaseRequest } from '../../services/rate-lease.ts'
import { RateCounter } from './rate-counter.ts'

/** Rate limits that are counted at once; beyond, those unused for longest are forgotten. */
const MAX_LIMITS = 10_000

/** Counts what all workers of a server admit under its rate limits. */
export class RateLedger {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #counters = new Map<string, RateCounter>()

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  lease({ limit, capacity, windowMs, key, count }: RateLeaseRequest): RateLease {
    const known = this.#counters.get(limit)
    const counter = known ?? new RateCounter(capacity, windowMs)
    // The first limit is the one that was used longest ago.
    if (known !== undefined) this.#counters.delete(limit)
    else if (this.#counters.size >= MAX_LIMITS) deleteOldest(this.#counters)
    this.#counters.set(limit, counter)
    return counter.lease(key, count, this.#clock.monotonic())
  }
}
