import type { Clock } from '../../base/values/clock.ts'

const CHECK_INTERVAL_MS = 2000

/**
 * Measures how stale the served configuration may be: the time since the database last responded. While it is
 * unavailable, traffic continues with the last known configuration (P8).
 */
export function createStalenessMonitor({ check, clock }: { check: () => Promise<void>; clock: Clock }) {
  let reachedAt = clock.monotonic()
  let timer: NodeJS.Timeout | undefined
  let probing = false
  let outage: Error | undefined

  async function probe(): Promise<void> {
    if (probing) return
    probing = true
    try {
      await check()
      reachedAt = clock.monotonic()
      outage = undefined
    } catch (error) {
      outage = error as Error
    }
    probing = false
  }

  return {
    /** Seconds since the database last responded. */
    staleness: () => (clock.monotonic() - reachedAt) / 1000,
    /** Why the database is unavailable, as the last check found. */
    get outage() {
      return outage
    },
    async start(): Promise<void> {
      timer = setInterval(() => void probe(), CHECK_INTERVAL_MS)
      timer.unref()
    },
    async stop(): Promise<void> {
      clearInterval(timer)
    },
  }
}
