/** Swedish writes times as ISO 8601 does, and in the order in which they sort. */
const LOCAL = new Intl.DateTimeFormat('sv', { dateStyle: 'short', timeStyle: 'medium' })

/** `2027-01-31 13:00:00`, the time of the reader's place. */
export function formatLocal(timestamp: string): string {
  const date = new Date(timestamp)
  return Number.isNaN(date.getTime()) ? timestamp : LOCAL.format(date)
}

/** `13:00:00`, for what is of today. */
export const formatTimeOfDay = (timestamp: string) => formatLocal(timestamp).slice(-8)

/** `2027-01-31 12:00:00.250 UTC`, as logs and the API have it. */
export function formatUtc(timestamp: string): string {
  const date = new Date(timestamp)
  if (Number.isNaN(date.getTime())) return timestamp
  return date
    .toISOString()
    .replace('T', ' ')
    .replace(/(\.000)?Z$/, ' UTC')
}

/** A time of the reader's place, with UTC as a tooltip. */
export function LocalTime({ value, dateless = false }: { value: string; dateless?: boolean }) {
  return (
    <time dateTime={value} title={formatUtc(value)}>
      {dateless ? formatTimeOfDay(value) : formatLocal(value)}
    </time>
  )
}
