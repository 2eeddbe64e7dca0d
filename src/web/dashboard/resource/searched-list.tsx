import { type ReactNode, useState } from 'react'
import { Button, type Column, EmptyState, LoadError, Loading, Search, Table } from '../kit/index.ts'
import { type PagedList, useList } from './use-list.ts'

// A longer result is not usable; refine the search instead.
const MAX_ROWS = 200

/** A list with a search. */
export interface SearchedList<T> extends PagedList<T> {
  readonly search: string
  readonly setSearch: (search: string) => void
  /** The list has no items. */
  readonly empty: boolean
}

/** Reads a list of the API for a page with a search field. */
export function useSearchedList<T>(path: string, key: string): SearchedList<T> {
  const [search, setSearch] = useState('')
  const list = useList<T>(path, key, search.trim() !== '')
  return { ...list, search, setSearch, empty: list.items.length === 0 && !list.loading && !list.error }
}

/** The search field, the table and the paging controls. */
export function ListBody<T extends { readonly id: string }>({
  list,
  title,
  subject = lowerFirst(title),
  columns,
  empty,
}: {
  list: SearchedList<T>
  title: string
  /** What is searched, for the label of the search field. */
  subject?: string
  columns: readonly Column<T>[]
  /** Shown when the list has no items. */
  empty: ReactNode
}) {
  const { search, setSearch, items, loading } = list
  const query = search.trim()
  const matches = query === '' ? items : items.filter((item) => matchesSearch(item, query))
  const visible = query === '' ? matches : matches.slice(0, MAX_ROWS)
  if (list.empty && query === '') return empty
  return (
    <>
      {list.error && <LoadError error={list.error} retry={list.reload} />}
      <div className="tools">
        <Search label={`Search ${subject}`} value={search} onValue={setSearch} />
        <p className="counts" role="status">
          {query !== '' && !loading && `${matches.length} of ${items.length}`}
        </p>
      </div>
      {visible.length > 0 && <Table label={title} columns={columns} rows={visible} keyOf={({ id }) => id} />}
      {loading && <Loading />}
      {query !== '' && !loading && matches.length === 0 && (
        <EmptyState title="No matches" action={<Button onClick={() => setSearch('')}>Clear search</Button>}>
          Nothing here contains “{query}”.
        </EmptyState>
      )}
      <footer className="table-foot">
        {matches.length > visible.length && (
          <p>Only the first {MAX_ROWS} matches are shown. Refine your search.</p>
        )}
        {list.incomplete && <p>Only the newest {items.length} were searched.</p>}
        {list.more && !loading && <Button onClick={list.loadMore}>Show older</Button>}
      </footer>
    </>
  )
}

/** `tunnel credentials` for `Tunnel credentials`, but `API keys` unchanged. */
export function lowerFirst(title: string): string {
  return /^[A-Z][a-z]/.test(title) ? title.charAt(0).toLowerCase() + title.slice(1) : title
}

const ID = /^[a-z]+_[0-9A-Za-z]{10,}$/
const UNSEARCHED_FIELDS = new Set(['uri', 'created_at', 'at', 'hash'])

/** Whether every word occurs in some field of the item. */
function matchesSearch(item: unknown, search: string): boolean {
  const texts = textsIn(item)
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) =>
      texts.some((text) =>
        ID.test(text) ? text.toLowerCase().startsWith(word) : text.toLowerCase().includes(word),
      ),
    )
}

function textsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(textsIn)
  if (typeof value !== 'object' || value === null) return [String(value ?? '')]
  return Object.entries(value).flatMap(([name, each]) => (UNSEARCHED_FIELDS.has(name) ? [] : textsIn(each)))
}
