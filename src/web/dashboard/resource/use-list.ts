import { useCallback, useEffect, useRef, useState } from 'react'
import { ApiError, api, errorMessage } from '../api.ts'
import { nextPath } from '../form/references.ts'

const PAGE_SIZE = 50
// The maximum a search reads; more would take too long in the browser and on the server.
const MAX_SEARCHED_ITEMS = 5000

/** A list that grows page by page. */
export interface PagedList<T> {
  readonly items: readonly T[]
  readonly loading: boolean
  readonly error: ApiError | undefined
  /** More can be loaded. */
  readonly more: boolean
  /** The search reached its limit, and there are more items. */
  readonly incomplete: boolean
  loadMore(): void
  reload(): void
}

/** Reads a list page by page, newest first; while searching, all pages up to the limit. */
export function useList<T>(path: string, key: string, searching: boolean): PagedList<T> {
  const [items, setItems] = useState<readonly T[]>([])
  const firstPage = `${path}${path.includes('?') ? '&' : '?'}limit=${PAGE_SIZE}`
  const [next, setNext] = useState<string | null>(firstPage)
  const [error, setError] = useState<ApiError>()
  const [requestedPages, setRequestedPages] = useState(1)
  const [reloadCount, setReloadCount] = useState(0)
  const pagesRead = useRef(0)

  const targetPages = searching ? Math.ceil(MAX_SEARCHED_ITEMS / PAGE_SIZE) : requestedPages
  // biome-ignore lint/correctness/useExhaustiveDependencies: reloadCount repeats the request after an error.
  useEffect(() => {
    if (next === null || pagesRead.current >= targetPages) return
    const controller = new AbortController()
    api.get<Record<string, unknown>>(next, controller.signal).then(
      (page) => {
        if (controller.signal.aborted) return
        pagesRead.current++
        setItems((previous) => [...previous, ...(page[key] as T[])])
        setNext(nextPath(page.next_page_uri))
        setError(undefined)
      },
      (caught: unknown) => {
        if (!controller.signal.aborted)
          setError(caught instanceof ApiError ? caught : new ApiError(0, '', errorMessage(caught)))
      },
    )
    return () => controller.abort()
  }, [next, targetPages, key, reloadCount])

  const reload = useCallback(() => {
    pagesRead.current = 0
    setItems([])
    setError(undefined)
    setNext(firstPage)
    setReloadCount((count) => count + 1)
  }, [firstPage])

  return {
    items,
    loading: next !== null && pagesRead.current < targetPages && error === undefined,
    error,
    more: next !== null && !searching,
    incomplete: next !== null && searching && pagesRead.current >= targetPages,
    loadMore: () => setRequestedPages(pagesRead.current + 1),
    reload,
  }
}
