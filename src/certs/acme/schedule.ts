const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** P53: an authority blocks a name after five failed validations in an hour, so we stop at four. */
const MAX_FAILURES_PER_HOUR = 4
const MIN_RETRY_MS = MINUTE
const MAX_RETRY_MS = 6 * HOUR
/** A look at DNS costs nobody anything, and whoever has just mended a record is waiting for us. */
const MAX_DNS_RETRY_MS = 15 * MINUTE
const GIVE_UP_AFTER_MS = 30 * DAY

/** A number from 0 up to 1, given so that tests can choose it. */
export type Random = () => number

/**
 * When a job that has failed this many times in a row is tried again: 1 min, 2, 4 … up to 6 h, a little spread.
 * Undefined once it has failed for 30 days.
 */
export function retryAt(
  job: { now: number; attempts: number; failedSince: number; preflightOnly: boolean },
  random: Random,
): number | undefined {
  const { now, attempts, failedSince, preflightOnly } = job
  if (now - failedSince >= GIVE_UP_AFTER_MS) return undefined
  const wait = Math.min(
    MIN_RETRY_MS * 2 ** Math.min(attempts - 1, 20),
    preflightOnly ? MAX_DNS_RETRY_MS : MAX_RETRY_MS,
  )
  return Math.round(now + wait * (1 + random() / 10))
}

/** The first moment at which one more validation may fail, given when the last ones did. */
export function nextValidationAt(failures: readonly number[], now: number): number {
  const recent = recentFailures(failures, now)
  if (recent.length < MAX_FAILURES_PER_HOUR) return now
  return recent.at(-MAX_FAILURES_PER_HOUR)! + HOUR
}

/** The failed validations that still count; one noted in the future is the doing of a clock that was set back. */
export function recentFailures(failures: readonly number[], now: number): number[] {
  return failures.filter((time) => time > now - HOUR && time <= now).sort((a, b) => a - b)
}

/** When to renew: a third of the lifetime before its end, up to a tenth of that third earlier so that not all come at once. */
export function renewalAt(certificate: { notBefore: number; notAfter: number }, random: Random): number {
  const third = (certificate.notAfter - certificate.notBefore) / 3
  return Math.round(certificate.notAfter - third - random() * (third / 10))
}

/** A moment in the window that the authority suggests (RFC 9773 section 4.2); now, when it lies in the past. */
export function suggestedAt(window: { start: number; end: number }, now: number, random: Random): number {
  const time = window.start + random() * Math.max(0, window.end - window.start)
  return Math.max(Math.round(time), now)
}
