import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { silentLog } from '../../base/process/log.ts'
import { systemClock } from '../../base/values/clock.ts'
import { openStore } from '../../store/index.ts'
import { openRequestKeys } from './request-keys.ts'

for (const engine of ['SQLite', 'PostgreSQL'])
  test(`processes make one key for an account together, and another for another account, on ${engine}`, async (t: TestContext) => {
    const dataDir = createTempDir()
    const url = engine === 'SQLite' ? undefined : (await createTestDatabase(t)).url
    const open = async () => {
      const masterKeyFile = join(dataDir, 'master.key')
      const store = await openStore({ url, dataDir, masterKeyFile, clock: systemClock, log: silentLog })
      t.after(() => store.close())
      return store
    }
    const stores = [await open(), await open()]

    const keys = await Promise.all(stores.map((store) => openRequestKeys(store)('acct_1')))
    const later = await openRequestKeys(stores[0]!)('acct_1')
    const other = await openRequestKeys(stores[0]!)('acct_2')

    const reveal = ({ certificatePem, privateKeyPem }: typeof later) => [
      certificatePem,
      privateKeyPem.reveal(),
    ]
    for (const key of keys) assert.deepEqual(reveal(key), reveal(later))
    assert.notDeepEqual(reveal(other), reveal(later))
    const { subject, validTo } = new X509Certificate(later.certificatePem)
    assert.deepEqual([subject, new Date(validTo).getUTCFullYear()], ['CN=acct_1', 9999])
  })

test('a key that cannot be read is asked for again, and is read once', async () => {
  const settings = new Map<string, string>()
  const sealed: (boolean | undefined)[] = []
  let reads = 0
  let isDown = true
  const load = openRequestKeys({
    async setting(name) {
      reads++
      if (isDown) throw new Error('down')
      return settings.get(name)
    },
    async putSetting(name, value, { secret } = {}) {
      sealed.push(secret)
      settings.set(name, value)
    },
  })
  await assert.rejects(load('acct_1'), /down/)

  isDown = false
  const [first, second] = await Promise.all([load('acct_1'), load('acct_1')])

  assert.equal(first, second)
  assert.equal(reads, 3)
  assert.deepEqual(sealed, [true])
})
