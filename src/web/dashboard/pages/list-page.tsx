import { type ReactNode, useState } from 'react'
import { type Column, type LoadState, LoadStatus, Page, Search, Table } from '../kit/index.ts'
import './pages.css'

interface ListPageProps<T> {
  title: string
  lead: string
  actions?: ReactNode
  /** Above the list. */
  notice?: ReactNode
  load: LoadState<unknown>
  /** Undefined while loading. */
  items: readonly T[] | undefined
  /** Shown instead of the table while there are no items. */
  empty: ReactNode
  /** The text of an item that the search looks in. */
  textOf: (item: T) => string
  columns: readonly Column<T>[]
  /** Controls beside the search; `items` are what they let through, of `total`. */
  filters?: ReactNode
  total?: number | undefined
}

/** A page with a table of loaded items that can be searched. */
export function ListPage<T extends { id: string }>(props: ListPageProps<T>) {
  const {
    title,
    lead,
    actions,
    notice,
    load,
    items,
    empty,
    textOf,
    columns,
    filters,
    total = items?.length,
  } = props
  const [search, setSearch] = useState('')
  const rows = items?.filter((item) => textOf(item).toLowerCase().includes(search.toLowerCase()))
  return (
    <Page title={title} lead={lead} actions={actions}>
      {notice}
      <LoadStatus load={load} />
      {total === 0 && empty}
      {rows && total !== 0 && (
        <>
          <div className="tools">
            <Search label={`Search ${title.toLowerCase()}`} value={search} onValue={setSearch} />
            {filters}
          </div>
          <Table label={title} columns={columns} rows={rows} keyOf={({ id }) => id} />
          {rows.length === 0 && <p className="quiet">No matches.</p>}
        </>
      )}
    </Page>
  )
}
