import { useSyncExternalStore } from 'react'

/** Where the page is: the path of the hash, and what follows its question mark. */
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

/** Follows the address of the page. */
export function usePageLocation(): PageLocation {
  return useSyncExternalStore(subscribe, currentLocation)
}

/** The address of a page, for links. */
export function hrefTo(path: string): string {
  return `#${path}`
}

/** Goes to a page; `replace` leaves no step to go back to. */
export function go(path: string, options: { replace?: boolean } = {}): void {
  if (options.replace) location.replace(hrefTo(path))
  else location.hash = path
}

/** The parameters of `path` if it fits the pattern, in which `:name` stands for one step. */
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
