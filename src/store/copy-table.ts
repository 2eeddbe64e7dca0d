import type { Sql, SqlValue } from './sql.ts'

const PAGE_SIZE = 200

/**
 * Replaces what a table of an SQLite database holds by what the same table of another database does, in the order of its
 * primary key. A table that the target does not have is left out.
 */
export async function copyTable(from: Sql, to: Sql, table: string): Promise<void> {
  const info = await to.all(`PRAGMA table_info(${table})`)
  if (info.length === 0) return
  const columns = info.map(({ name }) => String(name))
  const key = info
    .filter(({ pk }) => Number(pk) > 0)
    .sort((a, b) => Number(a.pk) - Number(b.pk))
    .map(({ name }) => String(name))
  const page = (where: string) =>
    `SELECT ${columns.join(', ')} FROM ${table} ${where} ORDER BY ${key.join(', ')} LIMIT ${PAGE_SIZE}`
  const first = page('')
  const next = page(`WHERE (${key.join(', ')}) > (${key.map(() => '?').join(', ')})`)

  await to.run(`DELETE FROM ${table}`)
  let cursor: SqlValue[] | undefined
  for (;;) {
    const rows: SqlValue[][] = cursor ? await from.tuples(next, ...cursor) : await from.tuples(first)
    await to.apply({ table, columns, rows })
    if (rows.length < PAGE_SIZE) return
    const lastRow = rows.at(-1)!
    cursor = key.map((name) => lastRow[columns.indexOf(name)]!)
    // The embedded engine answers without waiting: others get their turn here.
    await new Promise(setImmediate)
  }
}
