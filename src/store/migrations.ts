import type { Migration } from './schema.ts'
import type { Dialect, Sql } from './sql.ts'

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
  onStatement: (version: number, index: number) => void = () => {},
): Promise<number> {
  const supported = migrations.at(-1)!.version
  const current = await migrator.runExclusive(async (sql) => {
    await sql.run(
      `CREATE TABLE IF NOT EXISTS schema_versions (version ${migrator.dialect.integer} NOT NULL PRIMARY KEY,
       compatible_from ${migrator.dialect.integer} NOT NULL)`,
    )
    return schemaVersion(sql)
  })
  if (current.version > supported && current.compatibleFrom > supported) {
    throw new NewerSchema(
      `The database has schema ${current.version} and this release knows ${supported}: start a newer release, or restore a backup made before the upgrade.`,
    )
  }
  for (const migration of migrations) {
    if (migration.version <= current.version) continue
    await migrator.runExclusive(async (sql) => {
      // Another process may have migrated while this one waited for the lock.
      if ((await schemaVersion(sql)).version >= migration.version) return
      for (const [index, statement] of migration.statements(migrator.dialect).entries()) {
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
  const { version } = await migrator.runExclusive(schemaVersion)
  const newest = migrations.at(-1)!
  if (newest.version > version && newest.compatibleFrom > version)
    throw new IncompatibleSchema(
      `The new release changes the database to schema ${newest.version}, which the running one cannot read. Stop the server, then start the new release.`,
    )
}

/** The current version of the tables; 0 for an empty database. */
export async function schemaVersion(sql: Sql): Promise<{ version: number; compatibleFrom: number }> {
  const newest = await sql.get(
    'SELECT version, compatible_from FROM schema_versions ORDER BY version DESC LIMIT 1',
  )
  return { version: Number(newest?.version ?? 0), compatibleFrom: Number(newest?.compatible_from ?? 0) }
}
