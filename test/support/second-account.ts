import { join } from 'node:path'
import { createAccount } from '../../src/auth/index.ts'
import { silentLog } from '../../src/base/process/log.ts'
import { systemClock } from '../../src/base/values/clock.ts'
import { openStore } from '../../src/store/index.ts'
import { type ApiClient, createClient } from './api.ts'
import type { TestPlatform } from './platform.ts'

/** Creates a second account on a running platform, as its operator would. */
export async function createSecondAccount({
  dataDir,
  databaseUrl: url,
  credentials,
}: Pick<TestPlatform, 'dataDir' | 'databaseUrl' | 'credentials'>): Promise<{
  accountId: string
  call: ApiClient
  apiKey: string
  authtoken: string
}> {
  const masterKeyFile = join(dataDir, 'master.key')
  const store = await openStore({ url, dataDir, masterKeyFile, clock: systemClock, log: silentLog })
  const account = await createAccount(store, {
    name: 'other',
    email: 'other@example.com',
    clock: systemClock,
  })
  await store.close()
  const apiKey = account.apiKey.reveal()
  return {
    accountId: account.accountId,
    call: createClient(credentials.api_url, apiKey),
    apiKey,
    authtoken: account.authtoken.reveal(),
  }
}
