import { DatabaseSync } from 'node:sqlite'
import type { Logger } from '../../base/process/log.ts'
import { copyTable } from '../engine/copy-table.ts'
import { migrate, NewerSchema, schemaVersion } from '../engine/migrations.ts'
import { PostgresEngine } from '../engine/postgres.ts'
import { migrations, TABLES } from '../engine/schema.ts'
import type { Sql, SqlValue } from '../engine/sql.ts'
import { SqliteEngine } from '../engine/sqlite/sqlite.ts'
import { BackupError } from './backup-digest.ts'

const PAGE_SIZE = 1_000

/** Copies a snapshot of all tables of a PostgreSQL database into an SQLite file. */
export async function dumpPostgres(url: string, file: string, log: Logger): Promise<void> {
  const source = new PostgresEngine(url, log)
  try {
    await source.inSnapshot(async (sql) => {
      const { version } = await schemaVersion(sql, source.dialect)
      const supported = migrations.at(-1)!.version
      if (version > supported) {
        throw new NewerSchema(
          `The database has schema ${version}, but this release supports only ${supported}: back it up with the newer release.`,
        )
      }
      const target = new SqliteEngine(file, log)
      try {
        await migrate(
          target,
          migrations.filter((migration) => migration.version <= version),
        )
        await target.runExclusive(async (to) => {
          for (const table of TABLES) await copyTable(sql, to, table)
        })
      } finally {
        await target.close()
      }
    })
  } finally {
    await source.close()
  }
}

/** Copies all tables of an SQLite file into an empty PostgreSQL database. */
export async function loadPostgres(url: string, file: string, log: Logger): Promise<void> {
  const target = new PostgresEngine(url, log)
  const source = new DatabaseSync(file, { readOnly: true })
  try {
    const version = Number(
      source.prepare('SELECT max(version) AS version FROM schema_versions').get()?.version,
    )
    await migrate(
      target,
      migrations.filter((migration) => migration.version <= version),
    )
    await target.runExclusive(async (sql) => {
      const counts = await sql.get(
        'SELECT (SELECT count(*) FROM resources) + (SELECT count(*) FROM settings) AS rows',
      )
      if (Number(counts?.rows) > 0)
        throw new BackupError('The database is already in use: restore into an empty one.')
      await sql.run('DELETE FROM head')
      for (const table of TABLES) await loadTable(source, sql, table)
    })
  } finally {
    source.close()
    await target.close()
  }
}

async function loadTable(source: DatabaseSync, sql: Sql, table: string): Promise<void> {
  const columns = tableColumns(source, table)
  if (columns.length === 0) return
  let rows: SqlValue[][] = []
  const flush = async () => {
    await sql.apply({ table, columns, rows })
    rows = []
  }
  for (const record of source.prepare(`SELECT ${columns.join(', ')} FROM ${table}`).iterate()) {
    rows.push(columns.map((column) => record[column] as SqlValue))
    if (rows.length === PAGE_SIZE) await flush()
  }
  if (rows.length > 0) await flush()
}

/** The columns of a table; none when the schema is older than the table. */
function tableColumns(database: DatabaseSync, table: string): string[] {
  return database
    .prepare(`PRAGMA table_info(${table})`)
    .all()
    .map((column) => String(column.name))
}
