import type { Clock } from '../base/clock.ts'

/** A rate limiter with one bucket per key. */
export interface RateLimiter {
  /** Takes one token; returns 0, or the seconds until the next token when the bucket is empty. */
  take(key: string): number
}

const MAX_KEYS = 50_000

/** Token buckets of `burst` tokens, refilled at `perMinute`. Memory is bounded: full buckets are evicted first. */
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

  function evictFull(now: number): void {
    for (const [key, { tokens, updatedAt }] of buckets)
      if (tokens + (now - updatedAt) * perMs >= burst) buckets.delete(key)
    if (buckets.size >= MAX_KEYS) buckets.clear()
  }

  return {
    take(key) {
      const now = clock.monotonic()
      const bucket = buckets.get(key)
      if (bucket === undefined) {
        if (buckets.size >= MAX_KEYS) evictFull(now)
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
