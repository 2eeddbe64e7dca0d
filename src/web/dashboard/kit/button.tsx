import type { ComponentProps, ReactNode } from 'react'
import { hrefTo } from '../route.ts'

type Kind = 'plain' | 'main' | 'danger' | 'quiet'

const CLASSES: Record<Kind, string> = {
  plain: 'button',
  main: 'button main',
  danger: 'button danger',
  quiet: 'button bare',
}

/** A button, disabled while `busy`. */
export function Button({
  kind = 'plain',
  busy = false,
  disabled = false,
  type = 'button',
  ...rest
}: ComponentProps<'button'> & { kind?: Kind; busy?: boolean }) {
  return (
    <button {...rest} type={type} className={CLASSES[kind]} disabled={busy || disabled} aria-busy={busy} />
  )
}

/** A link to another page of the dashboard that looks like a button. */
export function ButtonLink({
  to,
  kind = 'plain',
  shortcut,
  children,
}: {
  to: string
  kind?: Kind
  /** The shell shortcut that follows this link, such as `n` for new. */
  shortcut?: 'n' | 'e'
  children: ReactNode
}) {
  return (
    <a href={hrefTo(to)} className={CLASSES[kind]} data-key={shortcut}>
      {children}
    </a>
  )
}
