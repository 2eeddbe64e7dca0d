/**
 * All durable state, on SQLite or PostgreSQL under one contract. It calls no other part: parts follow it. Begin with
 * `store.ts` (the contract), then `write/transaction.ts` and `write/write-queue.ts` (the write path), `feed/feed.ts`
 * (followers), and `engine/sqlite/sqlite.ts` or `engine/postgres.ts`. `seal/` keeps secrets, `tables/` what other parts
 * store beside resources, `copy/` the last known configuration, and `backup/` copies everything.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from '../base/process/log.ts'
import type { Clock } from '../base/values/clock.ts'
import { FALLBACK_COPY_FILE, FallbackCopy } from './copy/fallback-copy.ts'
import { DatabaseDamaged, findLoss } from './copy/sqlite-damage.ts'
import { createDurableStore, type DurableStore } from './durable-store.ts'
import type { Commit } from './engine/changes.ts'
import { HistoryWatch } from './engine/history.ts'
import { type Migrator, migrate, requireCompatibleSchema } from './engine/migrations.ts'
import { MAX_READERS, PostgresEngine } from './engine/postgres.ts'
import { ReconnectingEngine } from './engine/reconnecting-engine.ts'
import { migrations } from './engine/schema.ts'
import type { Engine, Query } from './engine/sql.ts'
import { highWaterMarkFile } from './engine/sqlite/high-water-mark.ts'
import { DATABASE_FILE, SqliteEngine, sqliteDialect } from './engine/sqlite/sqlite.ts'
import { StoreUnavailable } from './store.ts'

export { backup, restore } from './backup/backup.ts'
export { BackupError } from './backup/backup-digest.ts'
export { rotateMasterKey } from './backup/rotate.ts'
export { acceptLoss } from './copy/sqlite-damage.ts'
export { createStalenessMonitor } from './copy/staleness-monitor.ts'
export type { DurableStore } from './durable-store.ts'
export type { Commit } from './engine/changes.ts'
export { IncompatibleSchema, NewerSchema } from './engine/migrations.ts'
export { type PostgresProbe, probePostgres } from './engine/probe-postgres.ts'
export { DATABASE_FILE } from './engine/sqlite/sqlite.ts'
export { UnsupportedDatabase } from './engine/unsupported-database.ts'
export { collectRows } from './feed/feed.ts'
export type {
  NameClaimOutcome,
  NameClaimRequest,
  NameListener,
  NameSpans,
} from './name-claim-rules.ts'
export { MasterKeyError } from './seal/master-key.ts'
export * from './store.ts'
export {
  type ApplicationSessionRow,
  type ApplicationUserRow,
  openApplicationSessions,
} from './tables/application-sessions.ts'
export { type DashboardSession, openDashboardSessions } from './tables/dashboard-sessions.ts'
export {
  type DeadLetter,
  type EventQueue,
  openEventQueue,
  type PendingEvent,
  type QueuedEvent,
  type Settlement,
  type SinkState,
} from './tables/event-queue.ts'
export { type IpDataFile, type IpDataFiles, openIpDataFiles } from './tables/ip-data-files.ts'
export { openLoginRecords } from './tables/login-records.ts'
export { createLoginSync, type LoginSync } from './tables/login-sync.ts'
export { type NameClaimRows, openNameClaims } from './tables/name-claims.ts'
export { openNodes } from './tables/nodes.ts'
export { claimOf, draftOf, recordOf, withStoredSecrets } from './write/record.ts'

export interface StoreOptions {
  /** `postgres://…` for PostgreSQL; otherwise SQLite in the data directory. */
  readonly url?: string | undefined
  readonly dataDir: string
  readonly masterKeyFile: string
  /** Keeps a fallback copy of the database in the data directory, for reads while the database is unavailable (P8). */
  readonly keepCopy?: boolean
  /** How many processes share the connections for reads to PostgreSQL that one has. */
  readonly sharedBy?: number
  /** An earlier release uses the database: only migrations that it can live with are run. */
  readonly isUpgrade?: boolean
  /** Called after each commit of this process that has changes. */
  readonly onCommit?: ((commit: Commit) => void) | undefined
  readonly clock: Clock
  readonly log: Logger
}

/** Opens the store: migrates the tables and checks the master key against the sealed values. */
export async function openStore(options: StoreOptions): Promise<DurableStore> {
  const { url, dataDir, keepCopy = false } = options
  const history = new HistoryWatch(options.log)
  if (!keepCopy) return openOnEngine(openEngine(options), { ...options, history })
  const copy = await FallbackCopy.open({ ...options, history, file: join(dataDir, FALLBACK_COPY_FILE) })
  try {
    const engine = openEngine(options, copy)
    const store = await openOnEngine(engine, { ...options, history }, copy)
    void copy.replicate(engine, { shared: url !== undefined, watch: store.watch })
    return {
      ...store,
      async close() {
        await copy.close()
        await store.close()
      },
    }
  } catch (error) {
    await copy.close()
    throw error
  }
}

/** Creates the tables of a database, or brings them up to date; returns their versions before and after. */
export async function migrateDatabase(
  options: Pick<StoreOptions, 'url' | 'dataDir' | 'log'>,
): Promise<{ before: number; after: number }> {
  const engine = openEngine(options)
  try {
    return { before: await migrate(engine, migrations), after: migrations.at(-1)!.version }
  } finally {
    await engine.close()
  }
}

/** What is missing in the embedded database of a data directory; undefined when it has all that it had confirmed. */
export function describeLoss(dataDir: string): string | undefined {
  return findLoss(join(dataDir, DATABASE_FILE))
}

const DAMAGE_CHECK_INTERVAL_MS = 500

/** A process that follows changes and is asked for something meanwhile needs two connections for reads. */
const MIN_READERS = 2

function openEngine(
  { url, dataDir, log, sharedBy = 1 }: Pick<StoreOptions, 'url' | 'dataDir' | 'log' | 'sharedBy'>,
  copy?: FallbackCopy,
): Engine & Migrator {
  if (url === undefined) return openSqlite(join(dataDir, DATABASE_FILE), log, copy)
  return new PostgresEngine(url, log, {
    maxReaders: Math.max(Math.ceil(MAX_READERS / sharedBy), MIN_READERS),
    hasFallback: copy?.usable === true,
  })
}

/**
 * With a usable fallback copy, a missing database file is waited for and never created, and a damaged one until an operator
 * has repaired it.
 */
function openSqlite(file: string, log: Logger, copy: FallbackCopy | undefined): Engine & Migrator {
  let damage: DatabaseDamaged | undefined
  let checkedAt = 0
  const open = () => {
    if (copy?.usable && !existsSync(file))
      throw new StoreUnavailable(
        `The database ${file} is missing: put it back or restore a backup. To start over, remove ${FALLBACK_COPY_FILE} and ${highWaterMarkFile(DATABASE_FILE)} too.`,
      )
    // Each read and write tries to open it, and the check may read a whole log.
    if (damage && performance.now() - checkedAt < DAMAGE_CHECK_INTERVAL_MS) throw damage
    const loss = findLoss(file)
    checkedAt = performance.now()
    damage = loss === undefined ? undefined : new DatabaseDamaged(file, loss)
    if (damage) throw damage
    return new SqliteEngine(file, log, { hasHighWaterMark: true })
  }
  if (!copy?.usable) return open()
  try {
    return open()
  } catch (error) {
    if (!copy.failOver(error)) throw error
    return new ReconnectingEngine(sqliteDialect, open)
  }
}

async function openOnEngine(
  engine: Engine & Migrator,
  { masterKeyFile, onCommit, isUpgrade, history, clock, log }: StoreOptions & { history: HistoryWatch },
  copy?: FallbackCopy,
): Promise<DurableStore> {
  try {
    try {
      if (isUpgrade) await requireCompatibleSchema(engine, migrations)
      await migrate(engine, migrations, { emptyProblem: copy?.emptyProblem })
    } catch (error) {
      if (!copy?.failOver(error)) throw error
    }
    const query: Query | undefined = copy && ((read) => copy.query(engine.reader, read))
    const notify = (commit: Commit) => {
      copy?.markAvailable()
      onCommit?.(commit)
    }
    const requireDatabase = () => copy?.requireDatabase()
    return await createDurableStore({
      ...{ engine, query, requireDatabase, onCommit: notify, masterKeyFile, history, clock, log },
    })
  } catch (error) {
    await engine.close()
    throw error
  }
}
