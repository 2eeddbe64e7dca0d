import { useCallback, useEffect, useRef, useState } from 'react'
import { ApiError, api, sentenceOf } from '../api.ts'
import type { Loaded } from '../kit/index.ts'

interface ListPage {
  readonly next_page_uri: string | null
  readonly [key: string]: unknown
}

/** Far more than a page can show; whoever has more needs the API. */
const MOST = 5000
/** How many times as long as a reading takes it is left alone afterwards. */
const REST = 4

/** Everything in a list of the API, newest first, page after page. */
export async function listAll<T>(path: string, key: string, signal?: AbortSignal): Promise<T[]> {
  const items: T[] = []
  let next: string | null = path
  while (next !== null && items.length < MOST) {
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
export function useLoaded<T>(
  load: (signal: AbortSignal) => Promise<T>,
  options: { everyMs?: number; key?: string; skip?: boolean } = {},
): Loaded<T> {
  const { everyMs, key = '', skip = false } = options
  const latest = useRef(load)
  useEffect(() => {
    latest.current = load
  })
  const [state, setState] = useState<{ value?: T; error?: ApiError }>({})
  const [turn, setTurn] = useState(0)
  const reload = useCallback(() => setTurn((turn) => turn + 1), [])

  const last = useRef({ turn: -1, began: 0, ended: 0 })
  // biome-ignore lint/correctness/useExhaustiveDependencies: another turn or key loads again.
  useEffect(() => {
    if (skip) return
    const stop = new AbortController()
    const run = () => {
      const began = performance.now()
      last.current = { ...last.current, turn }
      const done = () => {
        if (!stop.signal.aborted) last.current = { turn, began, ended: performance.now() }
        return !stop.signal.aborted
      }
      latest.current(stop.signal).then(
        (value) => done() && setState({ value }),
        (error: unknown) => {
          if (!done()) return
          const refusal = error instanceof ApiError ? error : new ApiError(0, '', sentenceOf(error))
          setState((former) => ({ ...former, error: refusal }))
        },
      )
    }
    // What changes all the time is read less often the longer it takes; what somebody asks for is read at once.
    const { began, ended } = last.current
    const rest = turn === last.current.turn ? (ended - began) * REST - (performance.now() - ended) : 0
    const timer = setTimeout(run, Math.max(0, rest))
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [turn, key, skip])

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
