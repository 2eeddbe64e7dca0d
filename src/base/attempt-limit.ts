import { createHmac, randomBytes } from 'node:crypto'
import type { Clock } from './clock.ts'

const SLOTS = 65_536

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
  const used = new Float64Array(SLOTS)
  const usedAt = new Float64Array(SLOTS)

  function slotOf(key: string): number {
    return createHmac('sha256', secret).update(key).digest().readUInt16BE()
  }

  return {
    take(key) {
      const slot = slotOf(key)
      const now = clock.monotonic()
      used[slot] = Math.max(0, used[slot]! - (now - usedAt[slot]!) * perMs)
      usedAt[slot] = now
      const over = used[slot]! + 1 - burst
      if (over > 0) return Math.max(1, Math.ceil(over / perMs / 1000))
      used[slot]! += 1
      return 0
    },
    giveBack(key) {
      const slot = slotOf(key)
      used[slot] = Math.max(0, used[slot]! - 1)
    },
  }
}
