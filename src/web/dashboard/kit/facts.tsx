import type { ReactNode } from 'react'
import { formatLocal, formatUtc } from '../../shared/time.tsx'
import { formatAgo } from './ago.ts'

/** A list of names and values; empty values are omitted. */
export function Facts({ entries }: { entries: readonly (readonly [name: string, value: ReactNode])[] }) {
  const present = entries.filter(([, value]) => value !== undefined && value !== null && value !== '')
  if (present.length === 0) return null
  return (
    <dl className="facts">
      {present.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd dir="auto">{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** How long ago, with the time here and in UTC as a tooltip; `exact` shows the time here, too. */
export function Time({ value, exact = false }: { value: string; exact?: boolean }) {
  const local = formatLocal(value)
  return (
    <time dateTime={value} title={exact ? formatUtc(value) : `${local} (${formatUtc(value)})`}>
      {exact ? `${local} (${formatAgo(value)})` : formatAgo(value)}
    </time>
  )
}
