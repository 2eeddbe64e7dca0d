/** A source of time; injected, so that tests can move it. */
export interface Clock {
  /** Wall-clock milliseconds: for timestamps and certificates. */
  now(): number
  /** Monotonic milliseconds: for every duration, timeout and lease (P54). */
  monotonic(): number
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
}

const DAY_MS = 86_400_000
const TWO_DIGITS = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'))
let lastDay = Number.NaN
let lastDate = ''

/**
 * Formats RFC 3339 in UTC with whole seconds, as every timestamp of the API. Caches the last date: a list has many
 * timestamps of few days.
 */
export function formatTimestamp(milliseconds: number): string {
  const day = Math.floor(milliseconds / DAY_MS)
  if (day !== lastDay) {
    lastDate = new Date(day * DAY_MS).toISOString().slice(0, 10)
    lastDay = day
  }
  const seconds = Math.floor((milliseconds - day * DAY_MS) / 1000)
  const minutes = Math.floor(seconds / 60)
  return `${lastDate}T${TWO_DIGITS[Math.floor(minutes / 60)]}:${TWO_DIGITS[minutes % 60]}:${TWO_DIGITS[seconds % 60]}Z`
}
