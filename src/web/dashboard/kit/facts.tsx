import type { ReactNode } from 'react'
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

/** A relative time, with the absolute time as a tooltip. */
export function Time({ value, exact = false }: { value: string; exact?: boolean }) {
  const absolute = value.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC')
  return (
    <time dateTime={value} title={absolute}>
      {exact ? `${absolute} (${formatAgo(value)})` : formatAgo(value)}
    </time>
  )
}
