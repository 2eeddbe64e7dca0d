import { prefixOf } from '../../base/values/id.ts'
import { problem } from '../problems.ts'
import type { ApiRoute } from '../routes.ts'

const MAX_LIMIT = 100
/** Values of one parameter that narrows a list. */
const MAX_SELECTED = 100
const NO_PARAMETERS: readonly string[] = []
const PAGING_PARAMETERS: readonly string[] = ['limit', 'before_id', 'filter']

/** The requested page: its size, the id it starts after, and which items it shows. */
export interface PageRequest {
  readonly limit: number
  readonly beforeId: string | undefined
  readonly filter: string | undefined
  /** For some fields, the values of which an item must have one. */
  readonly selected?: ReadonlyMap<string, ReadonlySet<string>>
}

/** Parses the query of a request and rejects unknown parameters. */
export function readPage(
  query: Record<string, unknown>,
  { paged, selectBy = NO_PARAMETERS }: Pick<ApiRoute, 'paged' | 'selectBy'>,
): PageRequest {
  const allowed = paged !== undefined ? PAGING_PARAMETERS : NO_PARAMETERS
  const selected = new Map<string, ReadonlySet<string>>()
  for (const name in query) {
    const field = selectBy.find((each) => name === each || name === `${each}s`)
    if (field !== undefined) selected.set(field, readValues(query[name] as string | string[], name))
    else if (!allowed.includes(name))
      throw problem('unknown_parameter', name, [...allowed, ...selectBy].join(', ') || 'none')
    else if (Array.isArray(query[name])) throw problem('repeated_parameter', name)
  }
  const beforeId = query.before_id as string | undefined
  if (beforeId !== undefined && prefixOf(beforeId) !== paged) throw problem('bad_page', beforeId)
  return {
    limit: readLimit(query.limit as string | undefined),
    beforeId,
    filter: (query.filter as string | undefined) || undefined,
    ...(selected.size > 0 && { selected }),
  }
}

/** The values of a parameter that may be repeated, or hold several with commas. */
function readValues(parameter: string | string[], name: string): ReadonlySet<string> {
  const values = [parameter].flat().flatMap((text) => text.split(',', MAX_SELECTED + 1))
  if (values.length > MAX_SELECTED) throw problem('too_many_values', name, MAX_SELECTED)
  return new Set(values)
}

function readLimit(text: string | undefined): number {
  if (text === undefined) return MAX_LIMIT
  const limit = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > MAX_LIMIT) throw problem('bad_limit', text)
  return limit
}
