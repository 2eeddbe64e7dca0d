import { useState } from 'react'
import type { LoadState } from '../kit/index.ts'
import { type ItemOf, MAX_ITEMS, readList } from '../lists.ts'
import { useLoad } from '../pages/use-load.ts'

const PAGE_SIZE = 50
/** The API looks at 2,000 items for each call with a filter, and may find none. */
const MAX_CALLS_PER_PAGE = 20
/** The limit of the API for one call. */
const MAX_ITEMS_PER_CALL = 100

/** Which items a list shows, and when it is read again. */
export interface ListOptions {
  /** An expression of the API that items match. */
  readonly filter?: string | undefined
  /** Words that items contain. */
  readonly search?: string
  /** Reads everything at once instead of the first page. */
  readonly all?: boolean
  /** Reads the list again when it changes. */
  readonly version?: string
  readonly everyMs?: number
}

/** A list that grows page by page. */
export interface PagedList<T> extends Omit<LoadState<unknown>, 'value'> {
  readonly items: readonly T[]
  /** The words that the items contain; undefined until there are any. While a search runs, those of the one before. */
  readonly searched: string | undefined
  /** More can be loaded. */
  readonly more: boolean
  loadMore(): void
}

/** Reads a list of the API page by page, newest first. The server filters and searches. */
export function useList<Key extends string>(
  path: string,
  key: Key,
  options: ListOptions = {},
): PagedList<ItemOf<Key>> {
  const { search = '', all = false, version = '', everyMs } = options
  const filter = [options.filter && `(${options.filter})`, search && `search(obj, ${JSON.stringify(search)})`]
    .filter(Boolean)
    .join(' && ')
  const query = `${path}?${filter && `filter=${encodeURIComponent(filter)}&`}`
  const [requested, setRequested] = useState({ query, pages: 1 })
  const pages = requested.query === query ? requested.pages : 1
  const count = all ? MAX_ITEMS : pages * PAGE_SIZE
  const firstPath = `${query}limit=${Math.min(count, MAX_ITEMS_PER_CALL)}`
  const maxCalls = Math.ceil(count / PAGE_SIZE) * MAX_CALLS_PER_PAGE
  const { value, ...load } = useLoad(
    async (signal) => ({ ...(await readList(firstPath, key, { count, maxCalls, signal })), search }),
    {
      key: `${query} ${count} ${version}`,
      ...(everyMs !== undefined && { everyMs }),
    },
  )
  return {
    ...load,
    items: value?.items ?? [],
    searched: value?.search,
    more: value?.more ?? false,
    loadMore: () => setRequested({ query, pages: pages + 1 }),
  }
}
