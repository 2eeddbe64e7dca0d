import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import pg from 'pg'
import { freshDatabase } from '../../test/support/postgres.ts'
import { systemClock } from '../base/clock.ts'
import { silentLog } from '../base/log.ts'
import { openStore } from './index.ts'
import { storeContract, type TestDatabase } from './store.contract.ts'

/** A fresh database on the server of this test run. */
async function createDatabase(t: TestContext): Promise<TestDatabase> {
  const { url, dataDir: serverFiles } = await freshDatabase(t)
  const dataDir = mkdtempSync(join(tmpdir(), 'adit-store-'))
  const masterKeyFile = join(dataDir, 'master.key')
  t.after(() => rmSync(dataDir, { recursive: true, force: true }))
  return {
    masterKeyFile,
    directories: serverFiles === undefined ? undefined : [serverFiles],
    async open(overrides = {}) {
      const store = await openStore({
        url,
        dataDir,
        masterKeyFile,
        clock: systemClock,
        log: silentLog,
        ...overrides,
      })
      t.after(() => store.close())
      return store
    },
    async execute(statement, ...values) {
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      try {
        return (await client.query(statement, values)).rows
      } finally {
        await client.end()
      }
    },
  }
}

storeContract('postgres', createDatabase)
