import { useSyncExternalStore } from 'react'
import { mayLeaveFor } from './unsaved.ts'

/** The location of the page: the path and query string of the URL fragment. */
export interface PageLocation {
  readonly path: string
  readonly query: URLSearchParams
}

let cached: { hash: string; location: PageLocation } | undefined

function currentLocation(): PageLocation {
  const { hash } = location
  if (cached?.hash !== hash) {
    const [path = '', query = ''] = hash.replace(/^#/, '').split('?', 2)
    cached = { hash, location: { path: path === '' ? '/' : path, query: new URLSearchParams(query) } }
  }
  return cached!.location
}

function subscribe(onChange: () => void): () => void {
  addEventListener('hashchange', onChange)
  return () => removeEventListener('hashchange', onChange)
}

/** The current location; re-renders when it changes. */
export function usePageLocation(): PageLocation {
  return useSyncExternalStore(subscribe, currentLocation)
}

/** The `href` of a page. */
export function hrefTo(path: string): string {
  return `#${path}`
}

/** Navigates to a page; `replace` adds no history entry. */
export function go(path: string, options: { replace?: boolean } = {}): void {
  if (!mayLeaveFor(hrefTo(path))) return
  if (options.replace) location.replace(hrefTo(path))
  else location.hash = path
}

/** The parameters of `path` if it matches the pattern, in which `:name` matches one segment. */
export function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const patternSteps = pattern.split('/')
  const pathSteps = path.split('/')
  if (patternSteps.length !== pathSteps.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, step] of patternSteps.entries()) {
    if (step.startsWith(':')) params[step.slice(1)] = decodeStep(pathSteps[index]!)
    else if (step !== pathSteps[index]) return undefined
  }
  return params
}

function decodeStep(step: string): string {
  try {
    return decodeURIComponent(step)
  } catch {
    return step
  }
}
