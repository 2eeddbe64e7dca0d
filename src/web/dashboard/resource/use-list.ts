import { useCallback, useEffect, useRef, useState } from 'react'
import { ApiError, api, sentenceOf } from '../api.ts'
import { nextPath } from '../form/references.ts'

const PAGE = 50
// A search looks through this many; more would keep the browser and the server busy for too long.
const SEARCHED = 5000

/** A list that grows page by page. */
export interface PagedList<T> {
  readonly items: readonly T[]
  readonly loading: boolean
  readonly error: ApiError | undefined
  /** More can be loaded. */
  readonly more: boolean
  /** The search looked at as many as it may, and there are more. */
  readonly incomplete: boolean
  loadMore(): void
  reload(): void
}

/** Reads a list newest first; while something is searched for, all of it. */
export function useList<T>(path: string, key: string, searching: boolean): PagedList<T> {
  const [items, setItems] = useState<readonly T[]>([])
  const [next, setNext] = useState<string | null>(`${path}?limit=${PAGE}`)
  const [error, setError] = useState<ApiError>()
  const [asked, setAsked] = useState(1)
  const [turn, setTurn] = useState(0)
  const read = useRef(0)

  const wanted = searching ? Math.ceil(SEARCHED / PAGE) : asked
  // biome-ignore lint/correctness/useExhaustiveDependencies: another turn reads the same page again after an error.
  useEffect(() => {
    if (next === null || read.current >= wanted) return
    const stop = new AbortController()
    api.get<Record<string, unknown>>(next, stop.signal).then(
      (page) => {
        if (stop.signal.aborted) return
        read.current++
        setItems((former) => [...former, ...(page[key] as T[])])
        setNext(nextPath(page.next_page_uri))
        setError(undefined)
      },
      (caught: unknown) => {
        if (!stop.signal.aborted)
          setError(caught instanceof ApiError ? caught : new ApiError(0, '', sentenceOf(caught)))
      },
    )
    return () => stop.abort()
  }, [next, wanted, key, turn])

  const reload = useCallback(() => {
    read.current = 0
    setItems([])
    setError(undefined)
    setNext(`${path}?limit=${PAGE}`)
    setTurn((turn) => turn + 1)
  }, [path])

  return {
    items,
    loading: next !== null && read.current < wanted && error === undefined,
    error,
    more: next !== null && !searching,
    incomplete: next !== null && searching && read.current >= wanted,
    loadMore: () => setAsked(read.current + 1),
    reload,
  }
}
