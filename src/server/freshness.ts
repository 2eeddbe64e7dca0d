import type { Clock } from '../base/clock.ts'

const CHECK_INTERVAL_MS = 2000

/**
 * How old the configuration served here may be: the time since the database last answered. While it does not, traffic
 * goes on with what was last known (P8).
 */
export function createFreshness({ check, clock }: { check: () => Promise<void>; clock: Clock }) {
  let reachedAt = clock.monotonic()
  let timer: NodeJS.Timeout | undefined
  let probing = false

  async function probe(): Promise<void> {
    if (probing) return
    probing = true
    try {
      await check()
      reachedAt = clock.monotonic()
    } catch {
      // What is wrong is told by whoever needs the database; here only the time counts.
    }
    probing = false
  }

  return {
    /** Seconds since the database last answered. */
    staleness: () => (clock.monotonic() - reachedAt) / 1000,
    async start(): Promise<void> {
      timer = setInterval(() => void probe(), CHECK_INTERVAL_MS)
      timer.unref()
    },
    async stop(): Promise<void> {
      clearInterval(timer)
    },
  }
}
