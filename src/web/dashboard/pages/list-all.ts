import { useCallback, useEffect, useRef, useState } from 'react'
import { ApiError, api, errorMessage } from '../api.ts'
import type { LoadState } from '../kit/index.ts'

interface ListPage {
  readonly next_page_uri: string | null
  readonly [key: string]: unknown
}

/** Far more than a page can show; whoever has more needs the API. */
const MAX_ITEMS = 5000
/** How many times as long as a reading takes it is left alone afterwards. */
const IDLE_FACTOR = 4

/** Everything in a list of the API, newest first, page after page. */
export async function listAll<T>(path: string, key: string, signal?: AbortSignal): Promise<T[]> {
  const items: T[] = []
  let next: string | null = path
  while (next !== null && items.length < MAX_ITEMS) {
    const page: ListPage = await api.get(next, signal)
    items.push(...(page[key] as T[]))
    // The address the server knows itself by may not be the one this page was opened at.
    const url: URL | null = page.next_page_uri === null ? null : new URL(page.next_page_uri, location.origin)
    next = url && url.pathname + url.search
  }
  return items
}

/**
 * What several calls brought together, and how to make them again: with `reload`, and whenever `key` changes. The former
 * value stays meanwhile. Nothing is read while `skip` holds.
 */
export function useLoad<T>(
  load: (signal: AbortSignal) => Promise<T>,
  options: { everyMs?: number; key?: string; skip?: boolean } = {},
): LoadState<T> {
  const { everyMs, key = '', skip = false } = options
  const latest = useRef(load)
  useEffect(() => {
    latest.current = load
  })
  const [state, setState] = useState<{ value?: T; error?: ApiError }>({})
  const [reloadCount, setReloadCount] = useState(0)
  const reload = useCallback(() => setReloadCount((reloadCount) => reloadCount + 1), [])

  const lastRun = useRef({ reloadCount: -1, began: 0, ended: 0 })
  // biome-ignore lint/correctness/useExhaustiveDependencies: another turn or key loads again.
  useEffect(() => {
    if (skip) return
    const abort = new AbortController()
    const run = () => {
      const began = performance.now()
      lastRun.current = { ...lastRun.current, reloadCount }
      const finish = () => {
        if (!abort.signal.aborted) lastRun.current = { reloadCount, began, ended: performance.now() }
        return !abort.signal.aborted
      }
      latest.current(abort.signal).then(
        (value) => finish() && setState({ value }),
        (error: unknown) => {
          if (!finish()) return
          const apiError = error instanceof ApiError ? error : new ApiError(0, '', errorMessage(error))
          setState((previous) => ({ ...previous, error: apiError }))
        },
      )
    }
    // What changes all the time is read less often the longer it takes; what somebody asks for is read at once.
    const { began, ended } = lastRun.current
    const delayMs =
      reloadCount === lastRun.current.reloadCount
        ? (ended - began) * IDLE_FACTOR - (performance.now() - ended)
        : 0
    const timer = setTimeout(run, Math.max(0, delayMs))
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [reloadCount, key, skip])

  useEffect(() => {
    if (everyMs === undefined) return
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') reload()
    }, everyMs)
    return () => clearInterval(timer)
  }, [everyMs, reload])

  const { value, error } = state
  return { value, error, loading: value === undefined && error === undefined, reload }
}
