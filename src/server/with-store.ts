import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { CommandFailure } from '../base/process/command-line.ts'
import { silentLog } from '../base/process/log.ts'
import { systemClock } from '../base/values/clock.ts'
import type { DurableStore } from '../store/index.ts'
import { resolveMasterKeyFile, type ServerSettings } from './settings/settings.ts'

/** Rejects a data directory without a database: only a start creates one. */
export async function requireDatabase({ databaseUrl, dataDir }: ServerSettings): Promise<void> {
  const { DATABASE_FILE } = await import('../store/index.ts')
  if (databaseUrl === undefined && !existsSync(join(dataDir, DATABASE_FILE)))
    throw new CommandFailure(
      `There is no database in ${dataDir}. Set the data directory of the server with --data-dir, or start the server first: adit server`,
    )
}

/** Opens the existing store of a server for the work of an operator's command. */
export async function withStore<T>(
  settings: ServerSettings,
  work: (store: DurableStore) => Promise<T>,
): Promise<T> {
  await requireDatabase(settings)
  const { openStore } = await import('../store/index.ts')
  const store = await openStore({
    url: settings.databaseUrl,
    dataDir: settings.dataDir,
    masterKeyFile: resolveMasterKeyFile(settings),
    clock: systemClock,
    log: silentLog,
  })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}
