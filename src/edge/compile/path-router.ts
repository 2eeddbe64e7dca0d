import { readRequestPath } from '../../base/http/request-path.ts'
import type { HttpRoute } from '../contracts/table.ts'
import { edgeError } from '../errors.ts'
import { requirePath } from '../target-path.ts'

/** A path match and the route it selects. */
export interface PathRule {
  readonly matchType: 'exact_path' | 'path_prefix'
  readonly match: string
  readonly route: HttpRoute
}

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
    if (matchType === 'exact_path') exact.set(pathOfRule(match), route)
    else prefixes.set(pathOfRule(match), route)
  }
  const lengths = [...new Set([...prefixes.keys()].map((prefix) => prefix.length))].sort((a, b) => b - a)

  return (target) => {
    const path = target === '*' ? '/' : requirePath(target).decoded
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

/** The path of a rule, in the form that paths of requests are compared in. */
function pathOfRule(match: string): string {
  return readRequestPath(Buffer.from(match).toString('latin1'))?.decoded ?? match
}
