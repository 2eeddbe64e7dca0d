import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { silentLog } from '../../base/process/log.ts'
import { systemClock } from '../../base/values/clock.ts'
import { openStore } from '../index.ts'
import { openLoginRecords } from './login-records.ts'

async function createRecords(t: TestContext, url?: string) {
  const dataDir = createTempDir()
  const options = { dataDir, url, masterKeyFile: join(dataDir, 'master.key') }
  const store = await openStore({ ...options, clock: systemClock, log: silentLog })
  t.after(() => store.close())
  return { records: openLoginRecords(store), store }
}

const revocation = (subject: string, latestStart = 1, expiresAt = 1000) => ({
  scopeId: 'rt_1',
  subject,
  latestStart,
  expiresAt,
})

const engines = {
  sqlite: createRecords,
  postgres: async (t: TestContext) => createRecords(t, (await createTestDatabase(t)).url),
}

for (const [engine, create] of Object.entries(engines)) {
  test(`${engine}: one of many concurrent uses of an id is the first, until it expires`, async (t) => {
    const { records } = await create(t)

    const results = await Promise.all(
      Array.from({ length: 20 }, () => records.use('a', { now: 0, expiresAt: 100 })),
    )

    assert.equal(results.filter(Boolean).length, 1)
    assert.equal(await records.use('a', { now: 99, expiresAt: 300 }), false)
    assert.equal(await records.use('b', { now: 99, expiresAt: 300 }), true)
    assert.equal(await records.use('a', { now: 100, expiresAt: 300 }), true)
    assert.equal(await records.use('a', { now: 101, expiresAt: 300 }), false)
  })

  test(`${engine}: revocations are read in pages by cursor`, async (t) => {
    const { records } = await create(t)
    for (const subject of ['a', 'b', 'c']) await records.revoke(revocation(subject))

    const first = await records.revocationsAfter(0, 2)
    const second = await records.revocationsAfter(first.number, 2)

    assert.deepEqual([first.revocations, first.more], [[revocation('a'), revocation('b')], true])
    assert.deepEqual([second.revocations, second.more], [[revocation('c')], false])
    assert.deepEqual((await records.revocationsAfter(second.number, 2)).revocations, [])
  })

  test(`${engine}: a repeated revocation is listed again and never weakens the previous one`, async (t) => {
    const { records } = await create(t)
    await records.revoke(revocation('a', 50, 500))
    await records.revoke(revocation('b'))
    const { number } = await records.revocationsAfter(0, 10)

    await records.revoke(revocation('a', 40, 700))

    assert.deepEqual((await records.revocationsAfter(number, 10)).revocations, [revocation('a', 50, 700)])
  })

  test(`${engine}: expired rows are purged, and followers still get everything after them`, async (t) => {
    const { records, store } = await create(t)
    await records.use('old', { now: 0, expiresAt: 100 })
    await records.use('young', { now: 0, expiresAt: 200 })
    for (const subject of ['a', 'b', 'c']) await records.revoke(revocation(subject, 1, 100))
    const { number } = await records.revocationsAfter(0, 10)

    await records.purge(150)
    const countRows = async (table: string) =>
      Number((await store.engine.reader.get(`SELECT COUNT(*) AS count FROM ${table}`))?.count)
    assert.deepEqual([await countRows('login_uses'), await countRows('login_endings')], [1, 1])
    await records.revoke(revocation('d'))

    assert.deepEqual((await records.revocationsAfter(number, 10)).revocations, [revocation('d')])
  })

  test(`${engine}: a follower starts over after the database was restored to an earlier state`, async (t) => {
    const { records } = await create(t)
    await records.revoke(revocation('a'))

    assert.deepEqual((await records.revocationsAfter(77, 10)).revocations, [revocation('a')])
  })
}
