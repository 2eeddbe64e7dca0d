import type { Sql } from './sql.ts'

const PAGE = 1_000

/**
 * Replaces what a table of an SQLite database holds by what the same table of a PostgreSQL database does, in the view of
 * `from`, which has to be in a transaction. A table that the target does not have is left out.
 */
export async function copyTable(from: Sql, to: Sql, table: string): Promise<void> {
  const columns = (await to.all(`PRAGMA table_info(${table})`)).map(({ name }) => String(name))
  if (columns.length === 0) return
  await to.run(`DELETE FROM ${table}`)
  // A cursor name of its own for each table: statements are prepared by their text, and must not change their columns.
  const cursor = `rows_of_${table}`
  await from.run(`DECLARE ${cursor} NO SCROLL CURSOR FOR SELECT ${columns.join(', ')} FROM ${table}`)
  for (;;) {
    const rows = await from.lists(`FETCH ${PAGE} FROM ${cursor}`)
    await to.apply({ table, columns, rows })
    if (rows.length < PAGE) break
  }
  await from.run(`CLOSE ${cursor}`)
}
