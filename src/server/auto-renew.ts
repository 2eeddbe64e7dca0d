import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'

const CHECK_MS = 15_000
/** Certificates are valid from a little before they were made, so a clock set back by less does no harm. */
const BACKDATE_MS = 60_000

/**
 * Keeps a certificate that is made anew when `renewAfterMs` have passed, and also when the wall clock was set to where it
 * is not valid: one made before the clock was right would otherwise be served until the next start (P54).
 */
export async function keepFresh<T>(options: {
  make: (now: number) => Promise<T>
  renewAfterMs: number
  clock: Clock
  log: Logger
  /** What it is, for the log. */
  what: string
}): Promise<{ current(): T; check(): Promise<void>; stop(): void }> {
  const { make, renewAfterMs, clock, log, what } = options
  let madeAt = clock.now()
  let value = await make(madeAt)
  let making: Promise<void> | undefined

  const isFresh = () => {
    const age = clock.now() - madeAt
    return age >= -BACKDATE_MS && age < renewAfterMs
  }
  async function replace(): Promise<void> {
    const now = clock.now()
    try {
      value = await make(now)
      madeAt = now
    } catch (err) {
      log.error({ err, what }, 'certificate not renewed')
    }
    making = undefined
  }
  async function check(): Promise<void> {
    if (isFresh()) return
    making ??= replace()
    await making
  }
  const timer = setInterval(() => void check(), CHECK_MS)
  timer.unref()
  return { current: () => value, check, stop: () => clearInterval(timer) }
}
