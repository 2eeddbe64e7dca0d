import { type ReactNode, useState } from 'react'
import { lowerFirst } from '../form/labels.ts'
import { Button, type Column, EmptyState, LoadStatus, Search, Table } from '../kit/index.ts'
import type { ItemOf } from '../lists.ts'
import { type ListOptions, type PagedList, useList } from './use-list.ts'
import './resource.css'

/** A list with a search. */
export interface SearchedList<T> extends PagedList<T> {
  readonly search: string
  readonly setSearch: (search: string) => void
  /** The list has no items. */
  readonly empty: boolean
}

/** Reads a list of the API for a page with a search field. */
export function useSearchedList<Key extends string>(
  path: string,
  key: Key,
  options: Omit<ListOptions, 'search'> = {},
): SearchedList<ItemOf<Key>> {
  const [search, setSearch] = useState('')
  const list = useList(path, key, { ...options, search: search.trim() })
  return { ...list, search, setSearch, empty: list.searched === '' && list.items.length === 0 }
}

/** The search field, the table and the paging controls. */
export function ListBody<T extends { readonly id: string }>({
  list,
  title,
  subject = lowerFirst(title),
  columns,
  empty,
  filters,
}: {
  list: SearchedList<T>
  title: string
  /** What is searched, for the label of the search field. */
  subject?: string
  columns: readonly Column<T>[]
  /** Shown when the list has no items. */
  empty: ReactNode
  /** Controls beside the search; they stay when the list has no items. */
  filters?: ReactNode
}) {
  const { search, setSearch, searched, items } = list
  if (list.empty && filters === undefined) return empty
  return (
    <>
      <LoadStatus load={list} />
      <div className="tools">
        <Search label={`Search ${subject}`} value={search} onValue={setSearch} />
        {filters}
        <p className="counts" role="status">
          {searched && items.length > 0 && describeCount(items.length, list.more)}
        </p>
      </div>
      {items.length > 0 && <Table label={title} columns={columns} rows={items} keyOf={({ id }) => id} />}
      {list.empty && empty}
      {searched && items.length === 0 && (
        <EmptyState title="No matches" action={<Button onClick={() => setSearch('')}>Clear search</Button>}>
          Nothing here contains “{searched}”.
        </EmptyState>
      )}
      <footer className="table-foot">
        {list.more && <Button onClick={list.loadMore}>Show older</Button>}
      </footer>
    </>
  )
}

function describeCount(count: number, more: boolean): string {
  return `${count}${more ? ' or more' : ''} ${count === 1 && !more ? 'match' : 'matches'}`
}
