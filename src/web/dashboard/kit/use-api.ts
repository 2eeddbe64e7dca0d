import { useCallback, useEffect, useState } from 'react'
import { ApiError, api, errorMessage } from '../api.ts'

/** The state of a load, and how to repeat it. The previous value stays while it reloads. */
export interface LoadState<T> {
  readonly value: T | undefined
  readonly error: ApiError | undefined
  readonly loading: boolean
  reload(): void
}

/** Loads a path of the API; `undefined` loads nothing. `everyMs` polls it while the page is visible. */
export function useApi<T>(path: string | undefined, options: { everyMs?: number } = {}): LoadState<T> {
  const { everyMs } = options
  const [state, setState] = useState<{ path: string | undefined; value?: T; error?: ApiError }>({ path })
  const [reloadCount, setReloadCount] = useState(0)
  const reload = useCallback(() => setReloadCount((count) => count + 1), [])

  // biome-ignore lint/correctness/useExhaustiveDependencies: reloadCount repeats the request.
  useEffect(() => {
    if (path === undefined) return
    const controller = new AbortController()
    api.get<T>(path, controller.signal).then(
      (value) => setState({ path, value }),
      (error: unknown) => {
        if (controller.signal.aborted) return
        const apiError = error instanceof ApiError ? error : new ApiError(0, '', errorMessage(error))
        // Keeps the previous value: a short outage should not empty the page.
        setState((previous) => ({ ...(previous.path === path ? previous : { path }), error: apiError }))
      },
    )
    return () => controller.abort()
  }, [path, reloadCount])

  usePolling(reload, everyMs)

  const current = state.path === path ? state : { path }
  const { value, error } = current as typeof state
  return { value, error, loading: path !== undefined && value === undefined && error === undefined, reload }
}

/** Calls `reload` every `everyMs` milliseconds while the page is visible; never when undefined. */
export function usePolling(reload: () => void, everyMs: number | undefined): void {
  useEffect(() => {
    if (everyMs === undefined) return
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') reload()
    }, everyMs)
    return () => clearInterval(timer)
  }, [everyMs, reload])
}
