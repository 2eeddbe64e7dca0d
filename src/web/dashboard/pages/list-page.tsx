import { type ReactNode, useState } from 'react'
import { type Column, type LoadState, LoadStatus, Page, Pager, Search, Table } from '../kit/index.ts'
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
}

const PAGE_SIZE = 50

/** A page with a table of loaded items that can be searched: for items that the API cannot list one by one. */
export function ListPage<T extends { id: string }>(props: ListPageProps<T>) {
  const { title, lead, actions, notice, load, items, empty, textOf, columns } = props
  const [{ search, page }, setView] = useState({ search: '', page: 1 })
  const rows = items?.filter((item) => textOf(item).toLowerCase().includes(search.toLowerCase()))
  return (
    <Page title={title} lead={lead} actions={actions}>
      {notice}
      <LoadStatus load={load} />
      {items?.length === 0 && empty}
      {rows && items?.length !== 0 && (
        <>
          <div className="tools">
            <Search
              label={`Search ${title.toLowerCase()}`}
              value={search}
              onValue={(value) => setView({ search: value, page: 1 })}
            />
          </div>
          <Table
            label={title}
            columns={columns}
            rows={rows.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE)}
            keyOf={({ id }) => id}
          />
          {rows.length === 0 && <p className="quiet">No matches.</p>}
          <Pager
            page={page}
            pageSize={PAGE_SIZE}
            matching={rows.length}
            onPage={(next) => setView({ search, page: next })}
          />
        </>
      )}
    </Page>
  )
}
