const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

// The schedule of Standard Webhooks, with one step more near its start; 75 hours and 35 minutes in all (P52).
const DELAYS = [
  5 * SECOND,
  30 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
]
const JITTER = 0.2
const MAX_RETRY_AFTER = 24 * HOUR

/** How often an event is tried before it is dead. */
export const MAX_ATTEMPTS = DELAYS.length + 1

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
  const delay = DELAYS[attempts - 1]
  if (delay === undefined) return undefined
  const jittered = Math.round(delay * (1 + JITTER * random()))
  return now + Math.max(jittered, Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER))
}
