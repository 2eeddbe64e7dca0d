import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { silentLog } from '../../base/process/log.ts'
import { type DurableStore, openStore } from '../../store/index.ts'
import { followTicketSecret } from './ticket-secret.ts'

const HALF_DAY_MS = 12 * 60 * 60_000

for (const engine of ['SQLite', 'PostgreSQL']) {
  test(`processes share one secret of session tickets and replace it together on ${engine}`, async (t: TestContext) => {
    const dataDir = createTempDir()
    let now = 20_000 * HALF_DAY_MS
    const clock = { now: () => now, monotonic: () => performance.now() }
    const url = engine === 'SQLite' ? undefined : (await createTestDatabase(t)).url
    const open = async () => {
      const masterKeyFile = join(dataDir, 'master.key')
      const store = await openStore({ url, dataDir, masterKeyFile, clock, log: silentLog })
      t.after(() => store.close())
      return store
    }
    const stores = [await open(), await open()] as const
    const follow = async (store: DurableStore) => {
      const followed = await followTicketSecret(store, clock, silentLog, 20)
      t.after(() => followed.stop())
      return () => followed.current.reveal().toString('hex')
    }

    const [one, other] = await Promise.all([follow(stores[0]), follow(stores[1])])
    const first = one()
    assert.equal(other(), first)
    assert.equal((await follow(stores[0]))(), first)

    now += HALF_DAY_MS
    await eventually(() => one() !== first && one() === other(), 'both have another secret')
    await eventually(
      async () => (await stores[0].setting('tls.tickets.20000')) === undefined,
      'the first is deleted',
    )
    assert.ok((await stores[1].setting('tls.tickets.20001')) !== undefined)
  })
}
