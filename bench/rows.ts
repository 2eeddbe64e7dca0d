import { closeSync, fsyncSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { newId } from '../src/base/values/id.ts'

/** What each resource of a benchmark holds. */
export const BODY = {
  description: 'created by the benchmark',
  metadata: '{"team":"blue","purpose":"measuring"}',
}

/** Inserts IP policies directly into the table until it has this many; returns a sample of their ids. */
export function insertRows(dataDir: string, rows: number): string[] {
  const path = join(dataDir, 'adit.db')
  const database = new DatabaseSync(path)
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -200000')
  const account = String(
    database.prepare("SELECT account FROM resources WHERE kind = 'users'").get()!.account,
  )
  const count = Number(
    database.prepare("SELECT count(*) AS count FROM resources WHERE kind = 'ip_policies'").get()!.count,
  )
  const insert = database.prepare(
    "INSERT INTO resources (account, kind, id, data, sealed, revision, created_at) VALUES (?, 'ip_policies', ?, ?, NULL, 1, ?)",
  )
  const data = JSON.stringify(BODY)
  const from = Date.now() - rows * 10
  database.exec('BEGIN')
  for (let row = count; row < rows; row++)
    insert.run(account, newId('ipp', from + row * 10), data, from + row * 10)
  database.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE)')
  const sampled = database
    .prepare("SELECT id FROM resources WHERE kind = 'ip_policies' ORDER BY random() LIMIT 20000")
    .all()
  database.close()
  // The first commit of the next start would have to wait for all of this.
  const file = openSync(path, 'r+')
  fsyncSync(file)
  closeSync(file)
  return sampled.map(({ id }) => String(id))
}
