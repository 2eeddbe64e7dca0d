import type { ReactNode } from 'react'

/** One column of a table. */
export interface Column<T> {
  readonly title: string
  readonly render: (row: T) => ReactNode
  /** Numbers stand at the right, `mono` is for ids and addresses, `fit` takes no more room than it needs. */
  readonly kind?: 'text' | 'mono' | 'number' | 'fit'
}

/** A table that becomes a list of cards where there is little room. The first column names the row. */
export function Table<T>({
  label,
  columns,
  rows,
  keyOf,
}: {
  label: string
  columns: readonly Column<T>[]
  rows: readonly T[]
  keyOf: (row: T) => string
}) {
  return (
    <table className="table" aria-label={label}>
      <thead>
        <tr>
          {columns.map(({ title, kind = 'text' }) => (
            <th key={title} scope="col" className={kind}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map(({ title, render, kind = 'text' }, index) =>
              index === 0 ? (
                <th key={title} scope="row" className={kind}>
                  {render(row)}
                </th>
              ) : (
                <td key={title} className={kind} data-label={title}>
                  <div>{render(row)}</div>
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
