import type { ReactNode } from 'react'
import { hrefTo } from '../../route.ts'

/** A key figure with a caption. */
export function Tile({
  name,
  value,
  children,
  to,
}: {
  name: string
  value: ReactNode
  children?: ReactNode
  to?: string
}) {
  const inside = (
    <>
      <span className="tile-name">{name}</span>
      <span className="tile-value">{value}</span>
      {children !== undefined && <span className="tile-more">{children}</span>}
    </>
  )
  return to === undefined ? (
    <div className="tile">{inside}</div>
  ) : (
    <a className="tile" href={hrefTo(to)}>
      {inside}
    </a>
  )
}
