import { prefixOf } from '../base/id.ts'
import { problem } from './problems.ts'

const MAX_LIMIT = 100
const NONE: readonly string[] = []
const PAGING: readonly string[] = ['limit', 'before_id']
// One official client pages with the camel-case name; refusing it would break every second page.
const ORIGINAL: readonly string[] = [...PAGING, 'beforeId']

/** Where a page starts and how long it is. */
export interface Page {
  readonly limit: number
  readonly before: string | undefined
}

/** Reads the query of a request; anything it does not know is refused by name. */
export function readPage(query: Record<string, unknown>, paged: boolean, original: boolean): Page {
  const allowed = paged ? (original ? ORIGINAL : PAGING) : NONE
  for (const name in query) {
    if (!allowed.includes(name)) throw problem('unknown_parameter', name, allowed.join(', ') || 'none')
    if (Array.isArray(query[name])) throw problem('repeated_parameter', name)
  }
  const before = (query.before_id ?? query.beforeId) as string | undefined
  if (before !== undefined && prefixOf(before) === undefined) throw problem('bad_page', before)
  return { limit: readLimit(query.limit as string | undefined), before }
}

/** An id of another list says nothing about where this one should go on. */
export function requirePrefix({ before }: Page, prefix: string): void {
  if (before !== undefined && prefixOf(before) !== prefix) throw problem('bad_page', before)
}

function readLimit(given: string | undefined): number {
  if (given === undefined) return MAX_LIMIT
  const limit = /^[0-9]{1,3}$/.test(given) ? Number(given) : 0
  if (limit < 1 || limit > MAX_LIMIT) throw problem('bad_limit', given)
  return limit
}
