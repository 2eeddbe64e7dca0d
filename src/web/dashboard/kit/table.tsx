import type { ReactNode } from 'react'

/** One column of a table. */
export interface Column<T> {
  readonly title: string
  readonly render: (row: T) => ReactNode
  /** `number` is right-aligned, `mono` is for ids and addresses, `fit` shrinks to its content. */
  readonly kind?: 'text' | 'mono' | 'number' | 'fit'
}

/** A table that becomes a list of cards on narrow screens. The first column is the row header. */
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
