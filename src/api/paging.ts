import { prefixOf } from '../base/id.ts'
import { problem } from './problems.ts'

const MAX_LIMIT = 100
const NO_PARAMETERS: readonly string[] = []
const PAGING_PARAMETERS: readonly string[] = ['limit', 'before_id', 'filter']
// One official client uses the camel-case name in its page links.
const ORIGINAL_PARAMETERS: readonly string[] = [...PAGING_PARAMETERS, 'beforeId']

/** The requested page: its size, the id it starts after, and which items it shows. */
export interface Page {
  readonly limit: number
  readonly beforeId: string | undefined
  readonly filter: string | undefined
}

/** Parses the query of a request and rejects unknown parameters. */
export function readPage(query: Record<string, unknown>, paged: boolean, original: boolean): Page {
  const allowed = paged ? (original ? ORIGINAL_PARAMETERS : PAGING_PARAMETERS) : NO_PARAMETERS
  for (const name in query) {
    if (!allowed.includes(name)) throw problem('unknown_parameter', name, allowed.join(', ') || 'none')
    if (Array.isArray(query[name])) throw problem('repeated_parameter', name)
  }
  const beforeId = (query.before_id ?? query.beforeId) as string | undefined
  if (beforeId !== undefined && prefixOf(beforeId) === undefined) throw problem('bad_page', beforeId)
  return {
    limit: readLimit(query.limit as string | undefined),
    beforeId,
    filter: (query.filter as string | undefined) || undefined,
  }
}

/** Rejects a cursor that is an id of another kind. */
export function requirePrefix({ beforeId }: Page, prefix: string): void {
  if (beforeId !== undefined && prefixOf(beforeId) !== prefix) throw problem('bad_page', beforeId)
}

function readLimit(text: string | undefined): number {
  if (text === undefined) return MAX_LIMIT
  const limit = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > MAX_LIMIT) throw problem('bad_limit', text)
  return limit
}
