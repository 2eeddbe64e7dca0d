import type { ReactNode } from 'react'

/** One column of a table. */
export interface Column<T> {
  readonly title: string
  readonly render: (row: T) => ReactNode
  /** `number` is right-aligned, `mono` is for ids and addresses, `fit` shrinks to its content. */
  readonly kind?: 'text' | 'mono' | 'number' | 'fit'
  /** The name of its order; the heading is then a button. */
  readonly sortKey?: string
}

/** The order of the rows. */
export interface Sort {
  readonly key: string
  readonly descending: boolean
}

/** A table that becomes a list of cards on narrow screens. The first column is the row header. */
export function Table<T>({
  label,
  columns,
  rows,
  keyOf,
  sort,
  onSort,
}: {
  label: string
  columns: readonly Column<T>[]
  rows: readonly T[]
  keyOf: (row: T) => string
  sort?: Sort
  onSort?: (sort: Sort) => void
}) {
  return (
    <table className="table" aria-label={label}>
      <thead>
        <tr>
          {columns.map(({ title, kind = 'text', sortKey }) => (
            <th key={title} scope="col" className={kind} aria-sort={ariaSortOf(sort, sortKey)}>
              {sortKey === undefined ? (
                title
              ) : (
                <button
                  type="button"
                  className="sort"
                  onClick={() =>
                    onSort?.({ key: sortKey, descending: sort?.key === sortKey && !sort.descending })
                  }
                >
                  {title} <SortMark sort={sort} sortKey={sortKey} />
                </button>
              )}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map(({ title, render, kind = 'text' }, index) =>
              index === 0 ? (
                <th key={title} scope="row" className={kind} dir="auto">
                  {render(row)}
                </th>
              ) : (
                <td key={title} className={kind} data-label={title}>
                  <div dir="auto">{render(row)}</div>
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function ariaSortOf(sort: Sort | undefined, sortKey: string | undefined) {
  if (sort === undefined || sortKey === undefined || sort.key !== sortKey) return undefined
  return sort.descending ? ('descending' as const) : ('ascending' as const)
}

function SortMark({ sort, sortKey }: { sort: Sort | undefined; sortKey: string }) {
  const mark = sort?.key !== sortKey ? '↕' : sort.descending ? '↓' : '↑'
  return <span aria-hidden="true">{mark}</span>
}
