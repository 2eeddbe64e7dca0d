import assert from 'node:assert/strict'
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import pg from 'pg'
import { eventually } from '../../../test/support/eventually.ts'
import { startPostgres } from '../../../test/support/postgres.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { silentLog } from '../../base/process/log.ts'
import { systemClock } from '../../base/values/clock.ts'
import { DATABASE_FILE } from '../engine/sqlite/sqlite.ts'
import {
  type DurableStore,
  openLoginRecords,
  openNodes,
  openStore,
  rotateMasterKey,
  StoreUnavailable,
} from '../index.ts'
import { draft, put, recorder, write } from '../testing/fixtures.ts'
import { FALLBACK_COPY_FILE } from './fallback-copy.ts'

/** A database that can be stopped and started. */
interface Database {
  open(): Promise<DurableStore>
  stop(): Promise<void>
  start(): Promise<void>
  /** Waits until the copy equals the database. */
  waitForSync(): Promise<void>
  readonly dataDir: string
}

const COPIED = [
  ...['resources', 'claims', 'login_endings', 'settings'].map((table) => `SELECT * FROM ${table}`),
  'SELECT id, address FROM nodes',
  // Copied first and without the rows of changes meanwhile: with revision 0 the copy is not used yet.
  'SELECT revision FROM head',
]

async function openWithCopy(t: TestContext, dataDir: string, url?: string): Promise<DurableStore> {
  const masterKeyFile = join(dataDir, 'master.key')
  const options = { url, dataDir, masterKeyFile, keepCopy: true, clock: systemClock, log: silentLog }
  const store = await openStore(options)
  t.after(() => store.close())
  return store
}

/** Reads the tables of an SQLite file that may be in use. */
function tablesOf(file: string): string[][] {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5000 })
  try {
    return COPIED.map((statement) => comparable(database.prepare(statement).all()))
  } finally {
    database.close()
  }
}

async function postgresTablesOf(url: string): Promise<string[][]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const tables = []
    for (const statement of COPIED) tables.push(comparable((await client.query(statement)).rows))
    return tables
  } finally {
    await client.end()
  }
}

function comparable(rows: readonly object[]): string[] {
  return rows.map((row) => JSON.stringify(Object.values(row).map(String))).sort()
}

async function waitForSameTables(read: () => Promise<string[][]>, dataDir: string): Promise<void> {
  await eventually(async () => {
    const [source, copy] = [await read(), tablesOf(join(dataDir, FALLBACK_COPY_FILE))]
    return isDeepStrictEqual(copy, source)
  }, 'the copy equals the database')
}

const databases: Record<string, (t: TestContext) => Promise<Database>> = {
  async sqlite(t) {
    const dataDir = createTempDir()
    const file = join(dataDir, DATABASE_FILE)
    return {
      dataDir,
      open: () => openWithCopy(t, dataDir),
      stop: async () => renameSync(file, `${file}.aside`),
      start: async () => renameSync(`${file}.aside`, file),
      waitForSync: () => waitForSameTables(async () => tablesOf(file), dataDir),
    }
  },
  async postgres(t) {
    const postgres = await startPostgres()
    t.after(() => postgres.dispose())
    const dataDir = createTempDir()
    return {
      dataDir,
      open: () => openWithCopy(t, dataDir, postgres.url),
      stop: () => postgres.stop(),
      start: () => postgres.start(),
      waitForSync: () => waitForSameTables(() => postgresTablesOf(postgres.url), dataDir),
    }
  },
}

const withName = (name: string) => ({ claims: [{ scope: 'domain', name }] })

for (const [engine, create] of Object.entries(databases)) {
  test(`${engine}: the copy replicates created, changed, moved and deleted rows`, async (t) => {
    const database = await create(t)
    const store = await database.open()
    const logins = openLoginRecords(store)
    const [first] = await put(store, draft({ secrets: { token: 'first' }, ...withName('one') }))
    await database.waitForSync()

    const second = draft(withName('two'))
    await put(store, second)
    await store.putSetting('a.cursor', '1')
    await logins.revoke({
      scopeId: 'edge',
      subject: 'ann',
      latestStart: 1,
      expiresAt: Number.MAX_SAFE_INTEGER,
    })
    await database.waitForSync()

    await write(store, async (tx) => {
      await tx.remove(first!.kind, first!.account, first!.id)
      await tx.update({ ...second, ...withName('one') })
    })
    await store.putSetting('a.cursor', '2')
    // Already expired, and kept as the last of its kind.
    await logins.revoke({ scopeId: 'edge', subject: 'bob', latestStart: 2, expiresAt: 1 })
    await database.waitForSync()

    await put(store, ...Array.from({ length: 1200 }, () => draft()))
    await database.waitForSync()
    rmSync(join(database.dataDir, FALLBACK_COPY_FILE))
    await store.close()
    await database.open()
    await database.waitForSync()
  })

  test(`${engine}: a store opens on its copy while the database is unavailable, and uses the database once it is back`, async (t) => {
    const database = await create(t)
    const before = await database.open()
    const [row] = await put(before, draft({ secrets: { token: 'abc' }, ...withName('one') }))
    await before.putSetting('a.secret', 'whispered', { secret: true })
    const other = { id: 'other', address: '192.0.2.1:1', agentAddress: 'other.example.com:4443' }
    await openNodes(before).heartbeat(other, { ttlMs: 60_000, expire: true })
    await database.waitForSync()
    await before.close()
    await database.stop()

    const store = await database.open()
    const { follower, rows } = recorder()
    await store.follow([row!.kind], follower)
    assert.equal(rows.get(row!.id)?.secrets?.token, 'abc')
    assert.equal((await store.fallbackReader.holder('domain', 'one'))?.id, row!.id)
    const holders = await store.fallbackReader.holders('domain', ['none', 'one'])
    assert.deepEqual(
      [...holders].map(([name, { id }]) => [name, id]),
      [['one', row!.id]],
    )
    assert.equal((await store.fallbackReader.holdersWithPrefix('domain', 'on', 9)).length, 1)
    assert.equal((await store.fallbackReader.list(row!.kind, row!.account, { limit: 9 })).length, 1)
    assert.deepEqual(await store.fallbackReader.referrers(row!.id, 9), [])
    assert.equal((await store.fallbackReader.get(row!.kind, row!.account, row!.id))?.secrets?.token, 'abc')
    assert.equal(await store.setting('a.secret'), 'whispered')
    assert.deepEqual(await openNodes(store).list(), [other])
    await assert.rejects(store.setting('not.known'), StoreUnavailable)
    await assert.rejects(store.get(row!.kind, row!.account, row!.id), StoreUnavailable)
    await assert.rejects(put(store, draft()), StoreUnavailable)
    await assert.rejects(store.check(), StoreUnavailable)

    await database.start()
    const [next] = await put(store, draft())
    await eventually(() => rows.has(next!.id))
    await database.waitForSync()
  })

  test(`${engine}: after a rotation of the master key the copy opens with the new key only`, async (t) => {
    const database = await create(t)
    const store = await database.open()
    const [row] = await put(store, draft({ secrets: { token: 'abc' } }))
    await database.waitForSync()
    await rotateMasterKey(store)
    await database.waitForSync()
    await store.close()
    await database.stop()

    const { fallbackReader } = await database.open()
    assert.equal((await fallbackReader.get(row!.kind, row!.account, row!.id))?.secrets?.token, 'abc')
  })

  test(`${engine}: a damaged copy is replaced`, async (t) => {
    const database = await create(t)
    const store = await database.open()
    await put(store, draft())
    await database.waitForSync()
    await store.close()

    for (const end of ['-wal', '-shm'])
      rmSync(join(database.dataDir, FALLBACK_COPY_FILE + end), { force: true })
    writeFileSync(join(database.dataDir, FALLBACK_COPY_FILE), 'not a database at all '.repeat(1000))
    await database.open()
    await database.waitForSync()
  })
}

test('a copy is not used for another database', async (t) => {
  const database = await databases.sqlite!(t)
  const store = await database.open()
  await put(store, draft())
  await database.waitForSync()
  await store.close()

  await assert.rejects(
    openWithCopy(t, database.dataDir, 'postgres://adit@127.0.0.1:1/adit'),
    StoreUnavailable,
  )
})
