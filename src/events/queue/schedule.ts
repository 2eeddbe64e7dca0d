const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

// The schedule of Standard Webhooks with one additional early step; 75 hours and 35 minutes in total (P52).
const RETRY_DELAYS_MS = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
]
const JITTER = 0.2
const MAX_RETRY_AFTER_MS = 24 * HOUR_MS

/** The number of attempts before an event becomes a dead letter. */
export const MAX_ATTEMPTS = RETRY_DELAYS_MS.length + 1

/**
 * The time of the next attempt after a number of failed ones; undefined after the last. Jitter is only added, so that the
 * total never falls below the documented time, and a receiver that sends Retry-After is not called earlier.
 */
export function nextAttempt(
  attempts: number,
  now: number,
  retryAfterMs: number | undefined,
  random: () => number,
): number | undefined {
  const delay = RETRY_DELAYS_MS[attempts - 1]
  if (delay === undefined) return undefined
  const jittered = Math.round(delay * (1 + JITTER * random()))
  return now + Math.max(jittered, Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS))
}
