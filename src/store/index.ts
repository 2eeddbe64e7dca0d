import { join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { createDurableStore, type DurableStore } from './durable-store.ts'
import { migrate } from './migrations.ts'
import { migrations } from './schema.ts'
import { SqliteEngine } from './sqlite.ts'

export { MasterKeyRefused } from './master-key.ts'
export { NewerSchema } from './migrations.ts'
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
  const { dataDir, masterKeyFile, clock, log } = options
  const engine = new SqliteEngine(join(dataDir, 'adit.db'), log)
  try {
    await migrate(engine, migrations)
    return await createDurableStore({ engine, masterKeyFile, clock, log })
  } catch (error) {
    await engine.close()
    throw error
  }
}
