import type { Clock } from '../base/clock.ts'

const LOOK_MS = 2000

/**
 * How old the configuration served here may be: the time since the database last answered. While it does not, traffic
 * goes on with what was last known (P8).
 */
export function createFreshness({ check, clock }: { check: () => Promise<void>; clock: Clock }) {
  let answeredAt = clock.monotonic()
  let timer: NodeJS.Timeout | undefined
  let looking = false

  async function look(): Promise<void> {
    if (looking) return
    looking = true
    try {
      await check()
      answeredAt = clock.monotonic()
    } catch {
      // What is wrong is told by whoever needs the database; here only the time counts.
    }
    looking = false
  }

  return {
    /** Seconds since the database last answered. */
    staleness: () => (clock.monotonic() - answeredAt) / 1000,
    async start(): Promise<void> {
      timer = setInterval(() => void look(), LOOK_MS)
      timer.unref()
    },
    async stop(): Promise<void> {
      clearInterval(timer)
    },
  }
}
