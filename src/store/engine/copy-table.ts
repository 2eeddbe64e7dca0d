import type { Sql, SqlValue } from './sql.ts'

const PAGE_SIZE = 200

/**
 * Replaces the rows of a table in an SQLite database with those of the same table in another database, in primary key
 * order. A table that the target does not have is skipped.
 */
export async function copyTable(source: Sql, target: Sql, table: string): Promise<void> {
  const info = await target.all(`PRAGMA table_info(${table})`)
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

  await target.run(`DELETE FROM ${table}`)
  let cursor: SqlValue[] | undefined
  for (;;) {
    const rows: SqlValue[][] = cursor ? await source.scan(next, ...cursor) : await source.scan(first)
    await target.apply({ table, columns, rows })
    if (rows.length < PAGE_SIZE) return
    const lastRow = rows.at(-1)!
    cursor = key.map((name) => lastRow[columns.indexOf(name)]!)
    // The embedded engine is synchronous: yields to the event loop.
    await new Promise(setImmediate)
  }
}
