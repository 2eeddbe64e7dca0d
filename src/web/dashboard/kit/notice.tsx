import { type ReactNode, useEffect, useRef } from 'react'
import { ApiError, errorMessage } from '../api.ts'
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

/** How often a load is repeated while the server does not respond. */
const RETRY_DELAY_MS = 2000

/** A load error, with a retry button. While the server does not respond, as during a restart, it retries by itself. */
export function LoadError({ error, retry }: { error: ApiError | Error; retry?: () => void }) {
  const retryRef = useRef(retry)
  useEffect(() => {
    retryRef.current = retry
  })
  const retries = retry !== undefined && error instanceof ApiError && error.isOutage
  useEffect(() => {
    if (!retries) return
    const timer = setInterval(() => retryRef.current?.(), RETRY_DELAY_MS)
    return () => clearInterval(timer)
  }, [retries])
  return (
    <Notice kind="bad">
      {errorMessage(error)} {retries && 'This page continues once the server responds. '}
      {retry && <Button onClick={retry}>Try again</Button>}
    </Notice>
  )
}
