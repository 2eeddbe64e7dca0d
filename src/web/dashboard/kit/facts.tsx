import type { ReactNode } from 'react'

/** Names and values of one thing; values that are missing are left out. */
export function Facts({ entries }: { entries: readonly (readonly [name: string, value: ReactNode])[] }) {
  const shown = entries.filter(([, value]) => value !== undefined && value !== null && value !== '')
  return (
    <dl className="facts">
      {shown.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

const UNITS = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

/** `3 hours ago`, `in 2 days`. */
export function ago(at: string, now = Date.now()): string {
  const seconds = (Date.parse(at) - now) / 1000
  if (Number.isNaN(seconds)) return at
  for (const [unit, length] of UNITS)
    if (Math.abs(seconds) >= length) return relative.format(Math.trunc(seconds / length), unit)
  return seconds > 0 ? 'in a moment' : 'just now'
}

/** A moment as people say it, with the exact one when pointed at. */
export function Time({ at, exact = false }: { at: string; exact?: boolean }) {
  const whole = at.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC')
  return (
    <time dateTime={at} title={whole}>
      {exact ? `${whole} (${ago(at)})` : ago(at)}
    </time>
  )
}
