import { createHmac, randomBytes } from 'node:crypto'
import type { Clock } from './clock.ts'

const BUCKETS = 65_536

/** How often something may be tried in vain, for each of any number of keys. */
export interface Attempts {
  /** Takes an attempt before it is made; answers with the seconds to wait when there is none left, and 0 otherwise. */
  take(key: string): number
  /** Gives back an attempt that was not in vain. */
  giveBack(key: string): void
}

/**
 * Keys share a fixed number of buckets by a secret digest. So no flood of made-up keys can fill the memory or push out
 * what is known of another key, and nobody can choose a key that shares a bucket with somebody else's.
 */
export function createAttempts({
  burst,
  perMinute,
  clock,
}: {
  burst: number
  perMinute: number
  clock: Clock
}): Attempts {
  const perMs = perMinute / 60_000
  const secret = randomBytes(32)
  const tokensUsed = new Float64Array(BUCKETS)
  const updatedAt = new Float64Array(BUCKETS)

  function bucketOf(key: string): number {
    return createHmac('sha256', secret).update(key).digest().readUInt16BE()
  }

  return {
    take(key) {
      const bucket = bucketOf(key)
      const now = clock.monotonic()
      tokensUsed[bucket] = Math.max(0, tokensUsed[bucket]! - (now - updatedAt[bucket]!) * perMs)
      updatedAt[bucket] = now
      const excess = tokensUsed[bucket]! + 1 - burst
      if (excess > 0) return Math.max(1, Math.ceil(excess / perMs / 1000))
      tokensUsed[bucket]! += 1
      return 0
    },
    giveBack(key) {
      const bucket = bucketOf(key)
      tokensUsed[bucket] = Math.max(0, tokensUsed[bucket]! - 1)
    },
  }
}
