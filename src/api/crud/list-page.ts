import type { TSchema } from 'typebox'
import type { ApiCall } from '../call.ts'
import { compileListFilter } from './list-filter.ts'
import type { PageRequest } from './paging.ts'

type Body = Record<string, unknown>

/** How many items a call with a filter looks at. Further ones are on the next page. */
const MAX_SCANNED = 2000
const BATCH_SIZE = 100

/** What a list is called, where it is, and the schema of its items. */
export interface ListDescription {
  readonly listKey: string
  readonly path: string
  readonly itemSchema: TSchema
  /** Which of the items the list has; undefined for all. */
  readonly includes?: ((item: Body) => boolean) | undefined
}

/** Reads the newest items, at most `limit`, that are older than `before`. */
export type ReadItems = (before: string | undefined, limit: number) => Promise<Body[]>

/** The response of a list: a page of items, only those that match the filter if there is one. */
export async function listPage(
  { listKey, path, itemSchema, includes }: ListDescription,
  { config }: ApiCall,
  page: PageRequest,
  read: ReadItems,
): Promise<Body> {
  const { filter, selected } = page
  const condition =
    filter === undefined ? undefined : compileListFilter(filter, listKey, fieldNames(itemSchema))
  const { items, cursor } =
    condition === undefined && selected === undefined && includes === undefined
      ? await readUnfiltered(page, read)
      : await readFiltered(
          page,
          (item) => includes?.(item) !== false && isSelected(item, selected) && condition?.(item) !== false,
          read,
        )
  const address = `${config.apiUrl()}${path}`
  return {
    [listKey]: items,
    uri: address,
    next_page_uri:
      cursor === undefined ? null : `${address}?limit=${page.limit}&before_id=${cursor}${furtherQuery(page)}`,
  }
}

/** What the next page has to repeat of the query. */
function furtherQuery({ filter, selected }: PageRequest): string {
  const values = [...(selected ?? [])].map(([name, texts]) => [name, [...texts].join(',')] as const)
  return [...(filter === undefined ? [] : [['filter', filter] as const]), ...values]
    .map(([name, value]) => `&${name}=${encodeURIComponent(value)}`)
    .join('')
}

function isSelected(item: Body, selected: PageRequest['selected']): boolean {
  for (const [field, values] of selected ?? []) if (!values.has(String(item[field]))) return false
  return true
}

interface PageItems {
  readonly items: Body[]
  /** The id after which the next page begins; undefined on the last page. */
  readonly cursor: string | undefined
}

async function readUnfiltered({ beforeId, limit }: PageRequest, read: ReadItems): Promise<PageItems> {
  // One more than the page shows whether there is a next one.
  const rows = await read(beforeId, limit + 1)
  const items = rows.slice(0, limit)
  return { items, cursor: rows.length > limit ? idOf(items.at(-1)) : undefined }
}

async function readFiltered(
  { beforeId, limit }: PageRequest,
  matches: (item: Body) => boolean,
  read: ReadItems,
): Promise<PageItems> {
  const items: Body[] = []
  let before = beforeId
  for (let scanned = 0; scanned < MAX_SCANNED; scanned += BATCH_SIZE) {
    const batch = await read(before, BATCH_SIZE)
    for (const item of batch) {
      if (!matches(item)) continue
      if (items.length === limit) return { items, cursor: idOf(items.at(-1)) }
      items.push(item)
    }
    if (batch.length < BATCH_SIZE) return { items, cursor: undefined }
    before = idOf(batch.at(-1))
  }
  return { items, cursor: before }
}

const idOf = (item: Body | undefined) => item?.id as string | undefined

/** The fields of the items of a list. */
export const fieldNames = (schema: TSchema) =>
  Object.keys((schema as { properties?: object }).properties ?? {})
