import pg from 'pg'
import { describeError } from './postgres-errors.ts'
import { PostgresTargets } from './postgres-targets.ts'
import { migrations, TABLES, TRANSIENT_TABLES, VERSIONS } from './schema.ts'

const PROBE_TIMEOUT_MS = 5_000

/** What a PostgreSQL database lets its user do. */
export interface PostgresProbe {
  /** The time of the database, in milliseconds. */
  readonly time: number
  readonly user: string
  /** Statements that give the user the rights to run that it lacks. */
  readonly missingGrants: readonly string[]
  /** Whether this release has to create or change tables. */
  readonly needsMigration: boolean
  /** Whether the user may do so. */
  readonly mayMigrate: boolean
}

/** Connects to a PostgreSQL database and looks at the rights there; returns a sentence when it cannot be used. */
export async function probePostgres(url: string): Promise<PostgresProbe | string> {
  try {
    const targets = new PostgresTargets(url)
    return await targets.connect((target) => probe(target, targets))
  } catch (error) {
    return describeError(error)
  }
}

async function probe(target: pg.ClientConfig, targets: PostgresTargets): Promise<PostgresProbe> {
  const client = new pg.Client({
    ...target,
    connectionTimeoutMillis: PROBE_TIMEOUT_MS,
    query_timeout: PROBE_TIMEOUT_MS,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    await targets.requireWritable(client)
    const { rows } = await client.query(
      `SELECT extract(epoch FROM clock_timestamp()) * 1000 AS time, quote_ident(current_user) AS user,
         quote_ident(current_schema()) AS schema, to_regclass($1) IS NOT NULL AS exists,
         coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may_create,
         (SELECT coalesce(bool_and(pg_has_role(relowner, 'MEMBER')), true) FROM pg_class
          WHERE oid IN (SELECT to_regclass(name) FROM unnest($2::text[]) AS name)) AS is_owner,
         (SELECT string_agg(DISTINCT privilege, ', ') FROM unnest($2::text[]) AS name,
          unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS privilege
          WHERE NOT has_table_privilege(to_regclass(name), privilege)) AS lacks`,
      [VERSIONS, [VERSIONS, ...TABLES, ...TRANSIENT_TABLES]],
    )
    const { time, user, schema, exists, may_create, is_owner, lacks } = rows[0]
    const missingGrants = []
    // Without the right to use a schema there is no current one, and its tables are not found.
    if (schema === null) missingGrants.push(`GRANT USAGE ON SCHEMA public TO ${user};`)
    if (lacks !== null) missingGrants.push(`GRANT ${lacks} ON ALL TABLES IN SCHEMA ${schema} TO ${user};`)
    const version = exists && lacks === null ? await newestVersion(client) : 0
    return {
      time: Number(time),
      user,
      missingGrants,
      needsMigration: version < migrations.at(-1)!.version,
      mayMigrate: may_create && is_owner,
    }
  } finally {
    await client.end().catch(() => {})
  }
}

async function newestVersion(client: pg.Client): Promise<number> {
  const { rows } = await client.query(`SELECT max(version) AS version FROM ${VERSIONS}`)
  return Number(rows[0].version)
}
