import type { Logger } from '../base/process/log.ts'
import type { Clock } from '../base/values/clock.ts'

const CHECK_INTERVAL_MS = 15_000
/** Certificates are backdated, so a clock set back by less than this does no harm. */
const BACKDATE_MS = 60_000

/**
 * Issues a certificate and renews it after `renewAfterMs`, and when the wall clock was set to a time outside its
 * validity: a certificate issued under a wrong clock would otherwise be served until the next start (P54).
 */
export async function startAutoRenew<T>(options: {
  issue: (now: number) => Promise<T>
  renewAfterMs: number
  clock: Clock
  log: Logger
  /** The name of the certificate in the log. */
  name: string
}): Promise<{ current(): T; check(): Promise<void>; stop(): void }> {
  const { issue, renewAfterMs, clock, log, name } = options
  let issuedAt = clock.now()
  let value = await issue(issuedAt)
  let pending: Promise<void> | undefined

  const isFresh = () => {
    const age = clock.now() - issuedAt
    return age >= -BACKDATE_MS && age < renewAfterMs
  }
  async function renew(): Promise<void> {
    const now = clock.now()
    try {
      value = await issue(now)
      issuedAt = now
    } catch (err) {
      log.error({ err, certificate: name }, 'certificate not renewed')
    }
    pending = undefined
  }
  async function check(): Promise<void> {
    if (isFresh()) return
    pending ??= renew()
    await pending
  }
  const timer = setInterval(() => void check(), CHECK_INTERVAL_MS)
  timer.unref()
  return { current: () => value, check, stop: () => clearInterval(timer) }
}
