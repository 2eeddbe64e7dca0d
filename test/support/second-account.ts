import { join } from 'node:path'
import { createAccount } from '../../src/auth/index.ts'
import { systemClock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import { openStore } from '../../src/store/index.ts'
import { createClient } from './api.ts'
import type { TestPlatform } from './platform.ts'

/** A second tenant of a running platform on SQLite, as its operator would create one. */
export async function createSecondAccount({ dataDir, credentials }: TestPlatform) {
  const masterKeyFile = join(dataDir, 'master.key')
  const store = await openStore({ dataDir, masterKeyFile, clock: systemClock, log: silentLog })
  const account = await createAccount(store, {
    name: 'other',
    email: 'other@example.com',
    clock: systemClock,
  })
  await store.close()
  return {
    call: createClient(credentials.api_url, account.apiKey.reveal()),
    authtoken: account.authtoken.reveal(),
  }
}
