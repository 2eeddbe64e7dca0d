const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** P53: authorities block a name after five failed validations in an hour, so the limit is four. */
const MAX_FAILURES_PER_HOUR = 4

/** How the wait before a retry doubles. What costs the authority nothing is tried again sooner (decision 60). */
const PACES = {
  ordered: { min: MINUTE, max: 6 * HOUR },
  /** The owner who has just fixed a record is waiting. */
  preflight: { min: MINUTE, max: 15 * MINUTE },
  /** Resolvers remember for some seconds that a name server did not answer, such as ours before its start. */
  unanswered: { min: 5 * SECOND, max: 15 * MINUTE },
} as const

/** What failed: after an order was placed, in the DNS preflight, or because DNS did not answer. */
export type RetryPace = keyof typeof PACES
const GIVE_UP_AFTER_MS = 30 * DAY

/** A random number in [0, 1); injected, so that tests can choose it. */
export type Random = () => number

/** The time of the next retry, with jitter. Undefined after 30 days of failures. */
export function retryAt(
  job: { now: number; attempts: number; failedSince: number; pace: RetryPace },
  random: Random,
): number | undefined {
  const { now, attempts, failedSince, pace } = job
  if (now - failedSince >= GIVE_UP_AFTER_MS) return undefined
  const { min, max } = PACES[pace]
  const wait = Math.min(min * 2 ** Math.min(attempts - 1, 20), max)
  return Math.round(now + wait * (1 + random() / 10))
}

/** The earliest time at which another validation may fail without exceeding the limit. */
export function nextValidationAt(failures: readonly number[], now: number): number {
  const recent = recentFailures(failures, now)
  if (recent.length < MAX_FAILURES_PER_HOUR) return now
  return recent.at(-MAX_FAILURES_PER_HOUR)! + HOUR
}

/** The failures that still count. Ignores those in the future: the clock was set back since. */
export function recentFailures(failures: readonly number[], now: number): number[] {
  return failures.filter((time) => time > now - HOUR && time <= now).sort((a, b) => a - b)
}

interface Lifetime {
  readonly notBefore: number
  readonly notAfter: number
}

/** When to renew: a third of the lifetime before expiry, minus jitter of up to a tenth of that third. */
export function renewalAt({ notBefore, notAfter }: Lifetime, random: Random): number {
  const third = (notAfter - notBefore) / 3
  return Math.round(notAfter - third - random() * (third / 10))
}

/** A random time in the window the authority suggests (RFC 9773 section 4.2); now, when it lies in the past. */
export function suggestedAt(window: { start: number; end: number }, now: number, random: Random): number {
  const time = window.start + random() * Math.max(0, window.end - window.start)
  return Math.max(Math.round(time), now)
}

/**
 * The earliest renewal of a certificate that is issued now. Were it at once, because our clock is ahead of the
 * authority's or its window lies in the past, each renewal would be followed by another (P54).
 */
export function earliestRenewalAt({ notBefore, notAfter }: Lifetime, now: number): number {
  const remaining = now < notAfter ? notAfter - now : notAfter - notBefore
  return Math.round(now + Math.min(DAY, remaining / 3))
}
