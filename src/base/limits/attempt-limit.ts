import { createHmac, randomBytes } from 'node:crypto'
import type { Clock } from '../values/clock.ts'

const BUCKETS = 65_536

/** Limits failed attempts per key. */
export interface AttemptLimit {
  /** Charges an attempt before it runs. Returns 0, or the seconds to wait when the limit is reached. */
  take(key: string): number
  /** Returns the attempt after a success. */
  refund(key: string): void
}

/**
 * Creates an attempt limit of leaky buckets (decision 79). Keys map to a fixed number of buckets through a secret digest:
 * a flood of invented keys can neither fill the memory nor evict another key's count, and an attacker cannot choose a key
 * that shares a bucket with a victim's.
 */
export function createAttemptLimit({
  burst,
  perMinute,
  clock,
}: {
  burst: number
  perMinute: number
  clock: Clock
}): AttemptLimit {
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
    refund(key) {
      const bucket = bucketOf(key)
      tokensUsed[bucket] = Math.max(0, tokensUsed[bucket]! - 1)
    },
  }
}
