import { join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { createDurableStore, type DurableStore } from './durable-store.ts'
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
  readonly clock: Clock
  readonly log: Logger
}

/** Opens all durable state: brings the tables up to date, and checks the master key against what is sealed there. */
export async function openStore(options: StoreOptions): Promise<DurableStore> {
  const { masterKeyFile, clock, log } = options
  const engine = openEngine(options)
  try {
    await migrate(engine, migrations)
    return await createDurableStore({ engine, masterKeyFile, clock, log })
  } catch (error) {
    await engine.close()
    throw error
  }
}

function openEngine({ url, dataDir, log }: StoreOptions): Engine & Migrator {
  if (url === undefined) return new SqliteEngine(join(dataDir, DATABASE_FILE), log)
  if (/^postgres(ql)?:\/\//.test(url)) return new PostgresEngine(url, log)
  throw new DatabaseRefused(
    'The database URL must begin with postgres://, or be left out for SQLite in the data directory.',
  )
}
