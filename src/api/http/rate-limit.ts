import type { Clock } from '../../base/values/clock.ts'

/** A rate limiter with one bucket per key. */
export interface RateLimiter {
  /** Takes one token; returns 0, or the seconds until the next token when the bucket is empty. */
  take(key: string): number
}

const MAX_KEYS = 50_000
/** Keys evicted at once, so that the search for them is rare. */
const EVICTION_BATCH = MAX_KEYS / 10

/**
 * Token buckets of `burst` tokens, refilled at `perMinute`. Memory is bounded: the fullest buckets are evicted, which
 * gives the fewest tokens away.
 */
export function createRateLimiter({
  perMinute,
  burst,
  clock,
}: {
  perMinute: number
  burst: number
  clock: Clock
}): RateLimiter {
  const perMs = perMinute / 60_000
  const buckets = new Map<string, { tokens: number; updatedAt: number }>()

  function evictFullest(now: number): void {
    const levels = Array.from(buckets, ([key, { tokens, updatedAt }]) => ({
      key,
      tokens: tokens + (now - updatedAt) * perMs,
    }))
    levels.sort((one, other) => other.tokens - one.tokens)
    for (const { key } of levels.slice(0, EVICTION_BATCH)) buckets.delete(key)
  }

  return {
    take(key) {
      const now = clock.monotonic()
      const bucket = buckets.get(key)
      if (bucket === undefined) {
        if (buckets.size >= MAX_KEYS) evictFullest(now)
        buckets.set(key, { tokens: burst - 1, updatedAt: now })
        return 0
      }
      bucket.tokens = Math.min(burst, bucket.tokens + (now - bucket.updatedAt) * perMs)
      bucket.updatedAt = now
      if (bucket.tokens < 1) return Math.max(1, Math.ceil((1 - bucket.tokens) / perMs / 1000))
      bucket.tokens -= 1
      return 0
    },
  }
}
