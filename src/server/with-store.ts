import { systemClock } from '../base/clock.ts'
import { silentLog } from '../base/log.ts'
import type { DurableStore } from '../store/index.ts'
import { resolveMasterKeyFile, type ServerSettings } from './settings.ts'

/** Opens the store of a server for the work of an operator's command. */
export async function withStore<T>(
  settings: ServerSettings,
  work: (store: DurableStore) => Promise<T>,
): Promise<T> {
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
