import { join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { type Ask, createDurableStore, type DurableStore } from './durable-store.ts'
import { LAST_KNOWN_FILE, LastKnown } from './last-known.ts'
import { type Migrator, migrate } from './migrations.ts'
import { DatabaseRefused, PostgresEngine } from './postgres.ts'
import { migrations } from './schema.ts'
import type { Engine } from './sql.ts'
import { DATABASE_FILE, SqliteEngine } from './sqlite.ts'

export { backup, restore } from './backup.ts'
export { BackupRefused } from './backup-refused.ts'
export {
  type DashboardSession,
  type DashboardSessions,
  openDashboardSessions,
} from './dashboard-sessions.ts'
export type { DurableStore } from './durable-store.ts'
export {
  type DeadEvent,
  type EventQueue,
  openEventQueue,
  type QueuedEvent,
  type Settlement,
  type SinkState,
  type WaitingEvent,
} from './event-queue.ts'
export { type LoginEnding, type LoginRecords, openLoginRecords } from './login-records.ts'
export { MasterKeyRefused } from './master-key.ts'
export { NewerSchema } from './migrations.ts'
export { type KnownNode, type Nodes, openNodes } from './nodes.ts'
export { DatabaseRefused } from './postgres.ts'
export { draftOf, recordOf } from './record.ts'
export { addMasterKey, rotateMasterKey } from './rotate.ts'
export { SealBroken } from './seal.ts'
export * from './store.ts'

export interface StoreOptions {
  /** `postgres://…` for PostgreSQL; otherwise SQLite in the data directory. */
  readonly url?: string | undefined
  readonly dataDir: string
  readonly masterKeyFile: string
  /** Keeps a copy of a PostgreSQL database in the data directory, to go on with while the database is away. */
  readonly keepCopy?: boolean
  readonly clock: Clock
  readonly log: Logger
}

/** Opens all durable state: brings the tables up to date, and checks the master key against what is sealed there. */
export async function openStore(options: StoreOptions): Promise<DurableStore> {
  const { url, dataDir, keepCopy = false } = options
  if (url === undefined)
    return openEngine(new SqliteEngine(join(dataDir, DATABASE_FILE), options.log), options)
  if (!/^postgres(ql)?:\/\//.test(url))
    throw new DatabaseRefused(
      'The database URL must begin with postgres://, or be left out for SQLite in the data directory.',
    )
  const engine = new PostgresEngine(url, options.log)
  if (!keepCopy) return openEngine(engine, options)
  const copy = await LastKnown.open({ ...options, url, file: join(dataDir, LAST_KNOWN_FILE) })
  try {
    const store = await openEngine(engine, options, copy)
    void copy.keep(engine)
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

async function openEngine(
  engine: Engine & Migrator,
  { masterKeyFile, clock, log }: StoreOptions,
  copy?: LastKnown,
): Promise<DurableStore> {
  try {
    try {
      await migrate(engine, migrations)
    } catch (error) {
      if (!copy?.isEnough(error)) throw error
      log.warn({ err: error }, 'the database is away: going on with what was last known of it')
    }
    const ask: Ask | undefined = copy && ((question) => copy.ask(engine.reader, question))
    return await createDurableStore({ engine, ask, masterKeyFile, clock, log })
  } catch (error) {
    await engine.close()
    throw error
  }
}
