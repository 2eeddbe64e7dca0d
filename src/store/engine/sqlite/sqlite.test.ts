import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay, setImmediate as nextIteration } from 'node:timers/promises'
import { createRandom } from '../../../../test/support/random.ts'
import { createTempDir } from '../../../../test/support/temp-dir.ts'
import { silentLog } from '../../../base/process/log.ts'
import { systemClock } from '../../../base/values/clock.ts'
import { type DurableStore, openStore, type StoreOptions, StoreUnavailable } from '../../index.ts'
import { storeContract } from '../../store.contract.ts'
import { draft, put, type TestDatabase, write } from '../../testing/fixtures.ts'
import { assertNothingLost, startWriters } from '../../write/writers.contract.ts'
import { readerCacheKib } from './sqlite.ts'

async function openIn(
  t: TestContext,
  dataDir: string,
  overrides: Partial<StoreOptions> = {},
): Promise<DurableStore> {
  const masterKeyFile = join(dataDir, 'master.key')
  const store = await openStore({ dataDir, masterKeyFile, clock: systemClock, log: silentLog, ...overrides })
  t.after(() => store.close())
  return store
}

/** A database in its own directory. */
async function createDatabase(t: TestContext): Promise<TestDatabase> {
  const dataDir = createTempDir()
  const file = join(dataDir, 'adit.db')
  return {
    location: file,
    masterKeyFile: join(dataDir, 'master.key'),
    directories: [dataDir],
    open: (overrides) => openIn(t, dataDir, overrides),
    async execute(statement, ...values) {
      const database = new DatabaseSync(file, { timeout: 5_000 })
      try {
        return database.prepare(statement).all(...values)
      } finally {
        database.close()
        // A commit of another connection is visible from the next iteration of the event loop on.
        await nextIteration()
      }
    },
  }
}

storeContract('sqlite', createDatabase)

test('sqlite: acknowledged writes survive twenty kills under four writers', async (t) => {
  const dataDir = createTempDir()
  const random = createRandom()
  t.diagnostic(`seed ${random.seed}`)
  const acknowledged = new Map<string, string>()

  for (let round = 0; round < 20; round += 1) {
    const writers = await startWriters(dataDir, undefined, `r${round}`)
    await delay(random.below(120))
    await writers.kill()

    for (const [id, state] of writers.acknowledged) acknowledged.set(id, state)
    const database = new DatabaseSync(join(dataDir, 'adit.db'))
    assert.equal(database.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok')
    database.close()
  }

  assert.ok(acknowledged.size >= 100, `only ${acknowledged.size} writes were acknowledged`)
  await assertNothingLost(await openIn(t, dataDir), acknowledged)
})

test('sqlite: a full disk rejects writes, keeps reads working and recovers by itself', async (t) => {
  const store = await openIn(t, createTempDir())
  await put(store, draft({ id: 'th_before' }))
  const pages = (limit: string) =>
    store.inTransaction(async (sql) => Number((await sql.get(`PRAGMA ${limit}`))?.max_page_count))
  const unlimited = await pages('max_page_count')

  await pages('max_page_count = 1')
  const big = { text: 'x'.repeat(100_000) }
  const outcomes = await Promise.allSettled(
    Array.from({ length: 10 }, (_, n) =>
      put(store, draft({ id: `th_${n}`, data: big, claims: [{ scope: 'n', name: `${n}` }] })),
    ),
  )
  const during = await store.list('thing', 'ac_one', { limit: 100 })
  await pages(`max_page_count = ${unlimited}`)
  await put(store, draft({ id: 'th_after', claims: [{ scope: 'n', name: '0' }] }))

  for (const outcome of outcomes) {
    assert.ok(outcome.status === 'rejected' && outcome.reason instanceof StoreUnavailable)
    assert.match(outcome.reason.message, /disk is full/)
  }
  assert.deepEqual(
    during.map(({ id }) => id),
    ['th_before'],
  )
  assert.equal((await store.auditLog('ac_one', { limit: 100 })).length, 2)
  assert.equal(await store.verifyAudit('ac_one'), undefined)
})

test('sqlite: another process that locks the file delays writes without blocking the event loop', async (t) => {
  const dataDir = createTempDir()
  const store = await openIn(t, dataDir)
  const other = new DatabaseSync(join(dataDir, 'adit.db'))
  t.after(() => other.close())
  other.exec('BEGIN IMMEDIATE')

  const writing = put(store, draft({ id: 'th_1' }))
  for (let ticks = 0; ticks < 20; ticks++) await delay(1)
  const before = await store.get('thing', 'ac_one', 'th_1')
  other.exec('COMMIT')
  await writing

  assert.equal(before, undefined)
  assert.ok(await store.get('thing', 'ac_one', 'th_1'))
})

test('sqlite: the write-ahead log stays below 64 MiB with a recurring reader', async (t) => {
  const dataDir = createTempDir()
  const store = await openIn(t, dataDir)
  const reader = new DatabaseSync(join(dataDir, 'adit.db'), { readOnly: true })
  t.after(() => reader.close())
  const data = { text: 'x'.repeat(250_000) }

  let largest = 0
  let written = 0
  for (let round = 0; round < 16; round += 1) {
    reader.exec('BEGIN; SELECT count(*) FROM resources')
    for (let index = 0; index < 20; index += 1) {
      await put(store, draft({ data }))
      written += 2 * data.text.length
      largest = Math.max(largest, statSync(join(dataDir, 'adit.db-wal')).size)
    }
    reader.exec('COMMIT')
    await put(store, draft())
  }

  assert.ok(written > 128 * 1024 * 1024, 'enough was written to fill the log twice over')
  assert.ok(largest < 64 * 1024 * 1024, `the log grew to ${largest} bytes`)
})

test('sqlite: what reads may cache has a limit that a small machine lowers', () => {
  const gibibyte = 1024 ** 3
  assert.equal(readerCacheKib(gibibyte), 64 * 1024)
  assert.equal(readerCacheKib(64 * gibibyte), 448 * 1024)
})

test('sqlite: only the owner can access the database and its log', async (t) => {
  const dataDir = createTempDir()
  await put(await openIn(t, dataDir), draft())

  for (const name of ['adit.db', 'adit.db-wal', 'master.key']) {
    assert.equal(statSync(join(dataDir, name)).mode & 0o077, 0, name)
  }
})

test('sqlite: a write that never ends times out and the next one proceeds', {
  timeout: 30_000,
}, async (t) => {
  const store = await openIn(t, createTempDir())

  const stuck = write(store, () => new Promise<never>(() => {}))
  const next = put(store, draft({ id: 'th_next' }))

  await assert.rejects(stuck, StoreUnavailable)
  assert.equal((await next)[0]?.id, 'th_next')
})
