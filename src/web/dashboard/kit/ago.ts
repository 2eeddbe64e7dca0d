const UNITS = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

/** Formats a time relative to now: `3 hours ago`, `in 2 days`. */
export function formatAgo(timestamp: string, now = Date.now()): string {
  const seconds = (Date.parse(timestamp) - now) / 1000
  if (Number.isNaN(seconds)) return timestamp
  for (const [unit, unitSeconds] of UNITS)
    if (Math.abs(seconds) >= unitSeconds) return relative.format(Math.trunc(seconds / unitSeconds), unit)
  return seconds > 0 ? 'in a moment' : 'just now'
}
