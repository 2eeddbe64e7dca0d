import { type ReactNode, useState } from 'react'
import { Button, type Column, Empty, Failed, Loading, Search, Table } from '../kit/index.ts'
import { type PagedList, useList } from './use-list.ts'

// More rows than this help nobody to find something.
const SHOWN = 200

/** A list with what is searched for in it. */
export interface SearchedList<T> extends PagedList<T> {
  readonly search: string
  readonly setSearch: (search: string) => void
  /** There is nothing at all. */
  readonly none: boolean
}

/** Reads a list of the API for a page with a search field. */
export function useSearchedList<T>(path: string, key: string): SearchedList<T> {
  const [search, setSearch] = useState('')
  const list = useList<T>(path, key, search.trim() !== '')
  return { ...list, search, setSearch, none: list.items.length === 0 && !list.loading && !list.error }
}

/** The search field, the table, and how to see more. */
export function ListBody<T extends { readonly id: string }>({
  list,
  title,
  searched = lowered(title),
  columns,
  empty,
}: {
  list: SearchedList<T>
  title: string
  /** What the search field says it searches. */
  searched?: string
  columns: readonly Column<T>[]
  /** Shown when there is nothing at all. */
  empty: ReactNode
}) {
  const { search, setSearch, items, loading } = list
  const wanted = search.trim()
  const found = wanted === '' ? items : items.filter((item) => fits(item, wanted))
  const shown = wanted === '' ? found : found.slice(0, SHOWN)
  if (list.none && wanted === '') return empty
  return (
    <>
      {list.error && <Failed error={list.error} retry={list.reload} />}
      <div className="tools">
        <Search label={`Search ${searched}`} value={search} onValue={setSearch} />
        <p className="counts" role="status">
          {wanted !== '' && !loading && `${found.length} of ${items.length}`}
        </p>
      </div>
      {shown.length > 0 && <Table label={title} columns={columns} rows={shown} keyOf={({ id }) => id} />}
      {loading && <Loading />}
      {wanted !== '' && !loading && found.length === 0 && (
        <Empty title="Nothing fits" action={<Button onClick={() => setSearch('')}>Show all</Button>}>
          Nothing here contains “{wanted}”.
        </Empty>
      )}
      <footer className="table-foot">
        {found.length > shown.length && <p>The first {SHOWN} are shown; search for more words.</p>}
        {list.incomplete && <p>Only the newest {items.length} were searched.</p>}
        {list.more && !loading && <Button onClick={list.loadMore}>Show older</Button>}
      </footer>
    </>
  )
}

/** `tunnel credentials` of `Tunnel credentials`, but `API keys` as they are. */
function lowered(title: string): string {
  return /^[A-Z][a-z]/.test(title) ? title.charAt(0).toLowerCase() + title.slice(1) : title
}

const ID = /^[a-z]+_[0-9A-Za-z]{10,}$/
const NOT_SEARCHED = new Set(['uri', 'created_at', 'at', 'hash'])

/** Whether every word is somewhere in what the thing shows. */
function fits(item: unknown, search: string): boolean {
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
  return Object.entries(value).flatMap(([name, each]) => (NOT_SEARCHED.has(name) ? [] : textsIn(each)))
}
