import { useCallback, useEffect, useState } from 'react'
import { ApiError, api, errorMessage } from '../api.ts'

/** What a path answered, and how to ask again. The former value stays while it is read again. */
export interface LoadState<T> {
  readonly value: T | undefined
  readonly error: ApiError | undefined
  readonly loading: boolean
  reload(): void
}

/** Reads a path of the API; `undefined` reads nothing yet. `everyMs` reads it again and again while it is in view. */
export function useApi<T>(path: string | undefined, options: { everyMs?: number } = {}): LoadState<T> {
  const { everyMs } = options
  const [state, setState] = useState<{ path: string | undefined; value?: T; error?: ApiError }>({ path })
  const [reloadCount, setReloadCount] = useState(0)
  const reload = useCallback(() => setReloadCount((reloadCount) => reloadCount + 1), [])

  // biome-ignore lint/correctness/useExhaustiveDependencies: another turn reads the same path again.
  useEffect(() => {
    if (path === undefined) return
    const abort = new AbortController()
    api.get<T>(path, abort.signal).then(
      (value) => setState({ path, value }),
      (error: unknown) => {
        if (abort.signal.aborted) return
        const apiError = error instanceof ApiError ? error : new ApiError(0, '', errorMessage(error))
        // What is known stays in view: a server that is away for a moment should not empty the page.
        setState((previous) => ({ ...(previous.path === path ? previous : { path }), error: apiError }))
      },
    )
    return () => abort.abort()
  }, [path, reloadCount])

  useEffect(() => {
    if (everyMs === undefined) return
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') reload()
    }, everyMs)
    return () => clearInterval(timer)
  }, [everyMs, reload])

  const current = state.path === path ? state : { path }
  const { value, error } = current as typeof state
  return { value, error, loading: path !== undefined && value === undefined && error === undefined, reload }
}
