import type { Migration } from './schema.ts'
import type { Dialect, Sql } from './sql.ts'

/** Where the engine lets tables be changed: one transaction at a time over all processes. */
export interface Migrator {
  readonly dialect: Dialect
  /** Runs `work` in a transaction that no other process migrates beside; all of it takes hold, or nothing. */
  runExclusive<T>(work: (sql: Sql) => Promise<T>): Promise<T>
}

/** The database was made by a release this one does not know. */
export class NewerSchema extends Error {
  override name = 'NewerSchema'
}

/**
 * Brings the tables to the newest version this release knows, one transaction a step, so that a process killed on
 * the way leaves a version that the next start goes on from. Answers with the version found.
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
      // Another process may have been faster while this one waited for its turn.
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

/** The version of the tables as they are; 0 for a database without any. */
export async function schemaVersion(sql: Sql): Promise<{ version: number; compatibleFrom: number }> {
  const newest = await sql.get(
    'SELECT version, compatible_from FROM schema_versions ORDER BY version DESC LIMIT 1',
  )
  return { version: Number(newest?.version ?? 0), compatibleFrom: Number(newest?.compatible_from ?? 0) }
}
