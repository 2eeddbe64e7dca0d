import type { Clock } from '../base/clock.ts'

/** A limit on how often something may happen, for each of many keys. */
export interface RateLimit {
  /** Takes one; answers with the seconds to wait when there is none left, and 0 otherwise. */
  take(key: string): number
}

const MAX_KEYS = 50_000

/** Token buckets: `burst` at once, `perMinute` over time. Bounded memory: full buckets are forgotten first. */
export function createRateLimit({
  perMinute,
  burst,
  clock,
}: {
  perMinute: number
  burst: number
  clock: Clock
}): RateLimit {
  const perMs = perMinute / 60_000
  const buckets = new Map<string, { left: number; at: number }>()

  function forgetFull(now: number): void {
    for (const [key, { left, at }] of buckets) if (left + (now - at) * perMs >= burst) buckets.delete(key)
    if (buckets.size >= MAX_KEYS) buckets.clear()
  }

  return {
    take(key) {
      const now = clock.monotonic()
      const bucket = buckets.get(key)
      if (bucket === undefined) {
        if (buckets.size >= MAX_KEYS) forgetFull(now)
        buckets.set(key, { left: burst - 1, at: now })
        return 0
      }
      bucket.left = Math.min(burst, bucket.left + (now - bucket.at) * perMs)
      bucket.at = now
      if (bucket.left < 1) return Math.max(1, Math.ceil((1 - bucket.left) / perMs / 1000))
      bucket.left -= 1
      return 0
    },
  }
}
