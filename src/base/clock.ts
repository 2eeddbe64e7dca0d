/** The time, given to whatever decides by it so that tests can move it. */
export interface Clock {
  /** Wall-clock milliseconds: for what people and certificates read. */
  now(): number
  /** Monotonic milliseconds: for every duration, time-out and lease (P54). */
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

/** RFC 3339 in UTC with whole seconds, the form of every timestamp in the API. Lists hold many, mostly of few days. */
export function timestamp(milliseconds: number): string {
  const day = Math.floor(milliseconds / DAY_MS)
  if (day !== lastDay) {
    lastDate = new Date(day * DAY_MS).toISOString().slice(0, 10)
    lastDay = day
  }
  const seconds = Math.floor((milliseconds - day * DAY_MS) / 1000)
  const minutes = Math.floor(seconds / 60)
  return `${lastDate}T${TWO_DIGITS[Math.floor(minutes / 60)]}:${TWO_DIGITS[minutes % 60]}:${TWO_DIGITS[seconds % 60]}Z`
}
