import { join } from 'node:path'
import { silentLog } from '../../src/base/process/log.ts'
import { systemClock } from '../../src/base/values/clock.ts'
import { type DurableStore, openStore } from '../../src/store/index.ts'

/** Opens the store of a server beside it, as the commands of its operator do. */
export function openStoreOf({
  dataDir,
  databaseUrl,
}: {
  readonly dataDir: string
  readonly databaseUrl: string | undefined
}): Promise<DurableStore> {
  return openStore({
    url: databaseUrl,
    dataDir,
    masterKeyFile: join(dataDir, 'master.key'),
    clock: systemClock,
    log: silentLog,
  })
}
