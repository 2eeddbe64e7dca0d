import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import { systemClock } from '../base/clock.ts'
import { silentLog } from '../base/log.ts'
import { openStore } from './index.ts'
import { storeContract, type TestDatabase } from './store.contract.ts'

/** A database in a directory of its own, removed with the test. */
async function createDatabase(t: TestContext): Promise<TestDatabase> {
  const dataDir = mkdtempSync(join(tmpdir(), 'adit-store-'))
  const masterKeyFile = join(dataDir, 'master.key')
  t.after(() => rmSync(dataDir, { recursive: true, force: true }))
  return {
    masterKeyFile,
    directories: [dataDir],
    async open(overrides = {}) {
      const store = await openStore({
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
      const database = new DatabaseSync(join(dataDir, 'adit.db'), { timeout: 5_000 })
      try {
        return database.prepare(statement).all(...values)
      } finally {
        database.close()
      }
    },
  }
}

storeContract('sqlite', createDatabase)
