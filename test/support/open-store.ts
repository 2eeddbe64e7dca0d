import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
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
