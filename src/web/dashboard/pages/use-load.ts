import { useCallback, useEffect, useRef, useState } from 'react'
import { ApiError, errorMessage } from '../api.ts'
import { type LoadState, usePolling } from '../kit/index.ts'

/** The pause between automatic reloads, as a multiple of the load time. */
const IDLE_FACTOR = 4

/**
 * Loads a value that takes several calls; reloads on `reload` and whenever `key` changes. The previous value stays
 * meanwhile. `skip` suspends loading.
 */
export function useLoad<T>(
  load: (signal: AbortSignal) => Promise<T>,
  options: { everyMs?: number; key?: string; skip?: boolean } = {},
): LoadState<T> {
  const { everyMs, key = '', skip = false } = options
  const loadRef = useRef(load)
  useEffect(() => {
    loadRef.current = load
  })
  const [state, setState] = useState<{ value?: T; error?: ApiError }>({})
  const [reloadCount, setReloadCount] = useState(0)
  const reload = useCallback(() => setReloadCount((count) => count + 1), [])

  const lastRun = useRef({ reloadCount: -1, startedAt: 0, endedAt: 0 })
  // biome-ignore lint/correctness/useExhaustiveDependencies: reloadCount and key repeat the load.
  useEffect(() => {
    if (skip) return
    const controller = new AbortController()
    const run = () => {
      const startedAt = performance.now()
      lastRun.current = { ...lastRun.current, reloadCount }
      const finish = () => {
        if (!controller.signal.aborted)
          lastRun.current = { reloadCount, startedAt, endedAt: performance.now() }
        return !controller.signal.aborted
      }
      loadRef.current(controller.signal).then(
        (value) => finish() && setState({ value }),
        (error: unknown) => {
          if (!finish()) return
          const apiError = error instanceof ApiError ? error : new ApiError(0, '', errorMessage(error))
          setState((previous) => ({ ...previous, error: apiError }))
        },
      )
    }
    // Reloads after a key change back off with the load time; explicit reloads run at once.
    const { startedAt, endedAt } = lastRun.current
    const delayMs =
      reloadCount === lastRun.current.reloadCount
        ? (endedAt - startedAt) * IDLE_FACTOR - (performance.now() - endedAt)
        : 0
    const timer = setTimeout(run, Math.max(0, delayMs))
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [reloadCount, key, skip])

  usePolling(reload, everyMs)

  const { value, error } = state
  return { value, error, loading: value === undefined && error === undefined, reload }
}
