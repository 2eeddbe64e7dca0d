import { StoreUnavailable } from '../store.ts'
import { type Migration, TABLES, VERSIONS } from './schema.ts'
import type { Dialect, Sql, SqlRecord } from './sql.ts'
import { UnsupportedDatabase } from './unsupported-database.ts'

/** The part of an engine that migrations use: one transaction at a time across all processes. */
export interface Migrator {
  readonly dialect: Dialect
  /** Runs `work` in a transaction that excludes the migrations of other processes. */
  runExclusive<T>(work: (sql: Sql) => Promise<T>): Promise<T>
}

/** The schema of the database is newer than this release supports. */
export class NewerSchema extends Error {
  override name = 'NewerSchema'
}

/** The schema of this release does not suit the release that uses the database. */
export class IncompatibleSchema extends Error {
  override name = 'IncompatibleSchema'
}

/**
 * Migrates the tables to the newest version this release supports, one transaction per step, so that a process killed in
 * between leaves a version that the next start continues from. Returns the version before the migration.
 */
export async function migrate(
  migrator: Migrator,
  migrations: readonly Migration[],
  {
    emptyProblem,
    onStatement = () => {},
  }: {
    /** Why the database cannot be empty; its tables are not created then. */
    emptyProblem?: string | undefined
    onStatement?: (version: number, index: number) => void
  } = {},
): Promise<number> {
  const { dialect } = migrator
  const supported = migrations.at(-1)!.version
  // Tables that are up to date need no right to change them.
  const current = await migrator.runExclusive((sql) => schemaVersion(sql, dialect))
  if (current.version > supported && current.compatibleFrom > supported) {
    throw new NewerSchema(
      `The database has schema ${current.version}, but this release supports only ${supported}: start a newer release, or restore a backup made before the upgrade.`,
    )
  }
  if (current.version === 0 && emptyProblem !== undefined) throw new StoreUnavailable(emptyProblem)
  for (const migration of migrations) {
    if (migration.version <= current.version) continue
    await migrator.runExclusive(async (sql) => {
      // Another process may have migrated while this one waited for the lock.
      const { version } = await schemaVersion(sql, dialect)
      if (version >= migration.version) return
      if (version === 0) await createVersions(sql, dialect)
      for (const [index, statement] of migration.statements(dialect).entries()) {
        await sql.run(statement)
        onStatement(migration.version, index)
      }
      await sql.run(
        'INSERT INTO schema_versions (version, compatible_from) VALUES (?, ?)',
        migration.version,
        migration.compatibleFrom,
      )
    })
  }
  return current.version
}

/** Rejects migrations after which the release that uses the database now could not read it. */
export async function requireCompatibleSchema(
  migrator: Migrator,
  migrations: readonly Migration[],
): Promise<void> {
  const { version } = await migrator.runExclusive((sql) => schemaVersion(sql, migrator.dialect))
  const newest = migrations.at(-1)!
  if (newest.version > version && newest.compatibleFrom > version)
    throw new IncompatibleSchema(
      `The new release changes the database to schema ${newest.version}, which the running one cannot read. Stop the server, then start the new release.`,
    )
}

async function createVersions(sql: Sql, dialect: Dialect): Promise<void> {
  for (const table of TABLES) if (await hasTable(sql, dialect, table)) throw foreignTables(table)
  await sql.run(
    `CREATE TABLE IF NOT EXISTS ${VERSIONS} (version ${dialect.integer} NOT NULL PRIMARY KEY,
     compatible_from ${dialect.integer} NOT NULL)`,
  )
}

/** The current version of the tables; 0 for an empty database. */
export async function schemaVersion(
  sql: Sql,
  dialect: Dialect,
): Promise<{ version: number; compatibleFrom: number }> {
  if (!(await hasTable(sql, dialect, VERSIONS))) return { version: 0, compatibleFrom: 0 }
  let newest: SqlRecord | undefined
  try {
    newest = await sql.get(`SELECT version, compatible_from FROM ${VERSIONS} ORDER BY version DESC LIMIT 1`)
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error
    throw foreignTables(VERSIONS, error)
  }
  return { version: Number(newest?.version ?? 0), compatibleFrom: Number(newest?.compatible_from ?? 0) }
}

async function hasTable(sql: Sql, { findTable }: Dialect, name: string): Promise<boolean> {
  const found = (await sql.get(findTable, name))?.name
  return found !== undefined && found !== null
}

function foreignTables(table: string, cause?: unknown): UnsupportedDatabase {
  return new UnsupportedDatabase(
    `The database has a table ${table} of another application: give Adit its own database.`,
    { cause },
  )
}
