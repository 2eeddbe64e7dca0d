import { join } from 'node:path'
import { createAccount } from '../../src/auth/index.ts'
import { systemClock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import { openStore } from '../../src/store/index.ts'
import { type ApiClient, createClient } from './api.ts'
import type { TestPlatform } from './platform.ts'

/** Another account on a platform that is running, as its operator would make one. */
export async function addAccount(
  { dataDir, credentials }: Pick<TestPlatform, 'dataDir' | 'credentials'>,
  databaseUrl?: string,
): Promise<{ call: ApiClient; apiKey: string; authtoken: string }> {
  const masterKeyFile = join(dataDir, 'master.key')
  const options = { dataDir, url: databaseUrl, masterKeyFile }
  const store = await openStore({ ...options, clock: systemClock, log: silentLog })
  const made = await createAccount(store, { name: 'other', email: 'other@example.com', clock: systemClock })
  await store.close()
  const apiKey = made.apiKey.reveal()
  return {
    call: createClient(credentials.api_url, apiKey),
    apiKey,
    authtoken: made.authtoken.reveal(),
  }
}
