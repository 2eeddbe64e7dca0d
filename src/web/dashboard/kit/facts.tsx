import type { ReactNode } from 'react'
import { ago } from './ago.ts'

/** Names and values of one thing; values that are missing are left out. */
export function Facts({ entries }: { entries: readonly (readonly [name: string, value: ReactNode])[] }) {
  const shown = entries.filter(([, value]) => value !== undefined && value !== null && value !== '')
  if (shown.length === 0) return null
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

/** A moment as people say it, with the exact one when pointed at. */
export function Time({ at, exact = false }: { at: string; exact?: boolean }) {
  const whole = at.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC')
  return (
    <time dateTime={at} title={whole}>
      {exact ? `${whole} (${ago(at)})` : ago(at)}
    </time>
  )
}
