import { type ReactNode, useEffect } from 'react'
import { hrefTo } from '../route.ts'
import { BreakableText } from './breakable-text.tsx'

/** The frame of a page: heading, lead and actions. */
export function Page({
  title,
  lead,
  actions,
  back,
  children,
}: {
  title: string
  lead?: ReactNode
  actions?: ReactNode
  /** The parent page. */
  back?: { path: string; title: string }
  children: ReactNode
}) {
  useEffect(() => {
    document.title = `${title} · Adit`
  }, [title])
  return (
    <article className="page">
      <header className="page-head">
        {back && (
          <a className="page-back" href={hrefTo(back.path)}>
            <span aria-hidden="true">←</span> <bdi>{back.title}</bdi>
          </a>
        )}
        <h1 tabIndex={-1}>
          <BreakableText text={title} />
        </h1>
        {actions && <div className="page-actions">{actions}</div>}
        {lead && (
          <p className="page-lead" dir="auto">
            {lead}
          </p>
        )}
      </header>
      {children}
    </article>
  )
}

/** A raised section of a page with its own heading. */
export function Card({
  title,
  actions,
  children,
}: {
  title?: ReactNode
  actions?: ReactNode
  children: ReactNode
}) {
  return (
    <section className="card">
      {(title !== undefined || actions !== undefined) && (
        <header className="card-top">
          {title !== undefined && <h2>{title}</h2>}
          {actions !== undefined && <div className="card-actions">{actions}</div>}
        </header>
      )}
      {children}
    </section>
  )
}
