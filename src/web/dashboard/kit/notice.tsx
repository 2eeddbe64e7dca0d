import type { ReactNode } from 'react'
import { type ApiError, errorMessage } from '../api.ts'
import { Button } from './button.tsx'
import type { LoadState } from './use-api.ts'

/** A highlighted message. */
export function Notice({
  kind = 'info',
  children,
}: {
  kind?: 'info' | 'good' | 'warn' | 'bad'
  children: ReactNode
}) {
  return (
    <div className={`notice ${kind}`} role={kind === 'bad' ? 'alert' : 'status'}>
      {children}
    </div>
  )
}

/** A short status label. */
export function Badge({
  tone = 'plain',
  children,
}: {
  tone?: 'plain' | 'good' | 'warn' | 'bad' | 'info'
  children: ReactNode
}) {
  return <span className={`badge ${tone}`}>{children}</span>
}

/** The placeholder of an empty list, with the next step. */
export function EmptyState({
  title,
  action,
  children,
}: {
  title: string
  action?: ReactNode
  children?: ReactNode
}) {
  return (
    <div className="empty-state">
      <h2>{title}</h2>
      {children && <div className="empty-text">{children}</div>}
      {action && <div className="empty-action">{action}</div>}
    </div>
  )
}

/** A loading indicator; CSS delays it, so that short loads do not flicker. */
export function Loading({ label = 'Loading' }: { label?: string }) {
  return (
    <p className="loading" role="status">
      {label}…
    </p>
  )
}

/** What a load has come to while its value is missing or out of date. */
export function LoadStatus({
  load: { error, loading, reload },
}: {
  load: Omit<LoadState<unknown>, 'value'>
}) {
  return (
    <>
      {error && <LoadError error={error} retry={reload} />}
      {loading && <Loading />}
    </>
  )
}

/** A load error, with a retry button. */
export function LoadError({ error, retry }: { error: ApiError | Error; retry?: () => void }) {
  return (
    <Notice kind="bad">
      {errorMessage(error)}
      {retry && (
        <>
          {' '}
          <Button onClick={retry}>Try again</Button>
        </>
      )}
    </Notice>
  )
}
