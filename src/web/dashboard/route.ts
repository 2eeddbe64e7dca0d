import { useSyncExternalStore } from 'react'

/** Where the page is: the path of the hash, and what follows its question mark. */
export interface Place {
  readonly path: string
  readonly query: URLSearchParams
}

let known: { hash: string; place: Place } | undefined

function current(): Place {
  const { hash } = location
  if (known?.hash !== hash) {
    const [path = '', query = ''] = hash.replace(/^#/, '').split('?', 2)
    known = { hash, place: { path: path === '' ? '/' : path, query: new URLSearchParams(query) } }
  }
  return known!.place
}

function follow(changed: () => void): () => void {
  addEventListener('hashchange', changed)
  return () => removeEventListener('hashchange', changed)
}

/** Follows the address of the page. */
export function usePlace(): Place {
  return useSyncExternalStore(follow, current)
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
export function match(pattern: string, path: string): Record<string, string> | undefined {
  const wanted = pattern.split('/')
  const given = path.split('/')
  if (wanted.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, step] of wanted.entries()) {
    if (step.startsWith(':')) params[step.slice(1)] = decoded(given[index]!)
    else if (step !== given[index]) return undefined
  }
  return params
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step)
  } catch {
    return step
  }
}
