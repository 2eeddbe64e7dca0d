import { edgeError } from '../errors.ts'
import type { HttpRoute } from '../table.ts'

/** A path match and the route it selects. */
export interface PathRule {
  readonly matchType: 'exact_path' | 'path_prefix'
  readonly match: string
  readonly route: HttpRoute
}

/** Spellings that upstreams interpret differently: dot segments, doubled or encoded slashes, NUL, path parameters. */
const AMBIGUOUS_PATH = /\/\/|\/\.\.?(?:\/|$)|%2f|%5c|%00|%2e|[\\;]/i

/**
 * Creates the path router of one host: an exact match wins, then the longest prefix, compared character by character.
 * An ambiguous path is rejected where routes differ, because the upstream might resolve it to another route (P28). A
 * lookup costs a few map lookups, regardless of the number of routes.
 */
export function createPathRouter(rules: readonly PathRule[], host: string): (target: string) => HttpRoute {
  const catchAll = rules.find(({ matchType, match }) => matchType === 'path_prefix' && match === '/')
  // A single catch-all route has nothing to bypass, so paths pass unchecked.
  if (rules.length === 1 && catchAll !== undefined) return () => catchAll.route
  const exact = new Map<string, HttpRoute>()
  const prefixes = new Map<string, HttpRoute>()
  for (const { matchType, match, route } of rules) {
    if (matchType === 'exact_path') exact.set(normalizePath(match), route)
    else prefixes.set(normalizePath(match), route)
  }
  const lengths = [...new Set([...prefixes.keys()].map((prefix) => prefix.length))].sort((a, b) => b - a)

  return (target) => {
    const query = target.indexOf('?')
    const rawPath = target === '*' ? '/' : query === -1 ? target : target.slice(0, query)
    if (AMBIGUOUS_PATH.test(rawPath)) throw edgeError('ambiguous_path')
    const path = rawPath.includes('%') ? normalizePath(rawPath) : rawPath
    const exactMatch = exact.get(path)
    if (exactMatch !== undefined) return exactMatch
    for (const length of lengths) {
      if (length > path.length) continue
      const route = prefixes.get(length === path.length ? path : path.slice(0, length))
      if (route !== undefined) return route
    }
    throw edgeError('route_not_found', host)
  }
}

/** Reserved characters keep their spelling: encoded and plain, they may mean different things. */
const RESERVED_CHARACTERS = new Set(['%', '/', '?', '#', '\\', ';'])

/** Decodes what needs no encoding, so that equivalent spellings compare equal. */
function normalizePath(path: string): string {
  return path.replace(/%([0-9a-f]{2})/gi, (encoded, digits: string) => {
    const code = Number.parseInt(digits, 16)
    const character = String.fromCharCode(code)
    return code > 0x20 && code < 0x7f && !RESERVED_CHARACTERS.has(character)
      ? character
      : encoded.toUpperCase()
  })
}
