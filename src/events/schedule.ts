const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

// The schedule of Standard Webhooks, with one step more near its start; 75 hours and 35 minutes in all (P52).
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

/** How often an event is tried before it is dead. */
export const MAX_ATTEMPTS = RETRY_DELAYS_MS.length + 1

/**
 * When to try again after so many failed attempts; undefined when that was the last. The random part only ever adds, so
 * that the whole never takes less time than promised, and a receiver that names a time is not called before it.
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
