import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { freshDatabase, type PostgresServer, startPostgres } from '../../test/support/postgres.ts'
import { systemClock } from '../base/clock.ts'
import { silentLog } from '../base/log.ts'
import { openLoginRecords, openNodes, openStore, rotateMasterKey, StoreUnavailable } from './index.ts'
import { LAST_KNOWN_FILE } from './last-known.ts'
import { draft, put, recorder, write } from './store.contract.ts'

const COPIED = ['resources', 'claims', 'login_endings', 'settings'] as const

function makeDirectory(t: TestContext): string {
  const dataDir = mkdtempSync(join(tmpdir(), 'adit-copy-'))
  t.after(() => rmSync(dataDir, { recursive: true, force: true }))
  return dataDir
}

async function open(t: TestContext, url: string, dataDir: string) {
  const masterKeyFile = join(dataDir, 'master.key')
  const options = { url, dataDir, masterKeyFile, keepCopy: true, clock: systemClock, log: silentLog }
  const store = await openStore(options)
  t.after(() => store.close())
  return store
}

/** Waits until the copy holds what the database holds. */
async function inStep(url: string, dataDir: string): Promise<void> {
  const deadline = performance.now() + 15_000
  for (;;) {
    const [there, here] = [await tablesOf(url), copyOf(dataDir)]
    if (JSON.stringify(there) === JSON.stringify(here)) return
    if (performance.now() > deadline) assert.deepEqual(here, there)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function tablesOf(url: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const tables = []
    for (const table of COPIED) {
      const { rows } = await client.query(`SELECT * FROM ${table}`)
      tables.push(rows.map((row) => JSON.stringify(Object.values(row).map(String))).sort())
    }
    return tables
  } finally {
    await client.end()
  }
}

function copyOf(dataDir: string): unknown[] {
  const copy = new DatabaseSync(join(dataDir, LAST_KNOWN_FILE), { readOnly: true })
  try {
    return COPIED.map((table) =>
      copy
        .prepare(`SELECT * FROM ${table}`)
        .all()
        .map((row) => JSON.stringify(Object.values(row).map(String)))
        .sort(),
    )
  } finally {
    copy.close()
  }
}

/** A PostgreSQL server of the test's own. */
async function ownServer(t: TestContext): Promise<PostgresServer> {
  const postgres = await startPostgres()
  t.after(() => postgres.dispose())
  return postgres
}

const named = (name: string) => ({ claims: [{ scope: 'domain', name }] })

test('the copy of a database follows what is made, changed, moved and deleted there', async (t) => {
  const { url } = await freshDatabase(t)
  const dataDir = makeDirectory(t)
  const store = await open(t, url, dataDir)
  const endings = openLoginRecords(store)
  const [first] = await put(store, draft({ secrets: { token: 'first' }, ...named('one') }))
  await inStep(url, dataDir)

  const second = draft(named('two'))
  await put(store, second)
  await store.putSetting('a.cursor', '1')
  await endings.end({ place: 'edge', subject: 'ann', at: 1, until: Number.MAX_SAFE_INTEGER })
  await inStep(url, dataDir)

  await write(store, async (tx) => {
    await tx.remove(first!.kind, first!.account, first!.id)
    await tx.update({ ...second, ...named('one') })
  })
  await store.putSetting('a.cursor', '2')
  await endings.end({ place: 'edge', subject: 'ann', at: 2, until: Number.MAX_SAFE_INTEGER })
  await inStep(url, dataDir)

  await put(store, ...Array.from({ length: 1200 }, () => draft()))
  await inStep(url, dataDir)
})

test('a store opens on its copy while the database is away, and goes on with the database once it is back', async (t) => {
  const postgres = await ownServer(t)
  const dataDir = makeDirectory(t)
  const before = await open(t, postgres.url, dataDir)
  const [row] = await put(before, draft({ secrets: { token: 'abc' }, ...named('one') }))
  await before.putSetting('a.secret', 'whispered', { secret: true })
  await openNodes(before).beat({ id: 'other', address: '192.0.2.1:1' }, 60_000)
  await inStep(postgres.url, dataDir)
  await before.close()
  await postgres.stop()

  const store = await open(t, postgres.url, dataDir)
  const { follower, rows, until } = recorder()
  await store.follow([row!.kind], follower)
  assert.equal(rows.get(row!.id)?.secrets?.token, 'abc')
  assert.equal((await store.lastKnown.holder('domain', 'one'))?.id, row!.id)
  assert.equal((await store.lastKnown.get(row!.kind, row!.account, row!.id))?.secrets?.token, 'abc')
  assert.equal(await store.setting('a.secret'), 'whispered')
  assert.deepEqual(await openNodes(store).lastKnown(), [{ id: 'other', address: '192.0.2.1:1' }])
  await assert.rejects(store.setting('not.known'), StoreUnavailable)
  await assert.rejects(store.get(row!.kind, row!.account, row!.id), StoreUnavailable)
  await assert.rejects(put(store, draft()), StoreUnavailable)
  await assert.rejects(store.check(), StoreUnavailable)

  await postgres.start()
  const [next] = await put(store, draft())
  await until(() => rows.has(next!.id))
  await inStep(postgres.url, dataDir)
})

test('after a rotation of the master key the copy opens with the new key alone', async (t) => {
  const postgres = await ownServer(t)
  const dataDir = makeDirectory(t)
  const store = await open(t, postgres.url, dataDir)
  const [row] = await put(store, draft({ secrets: { token: 'abc' } }))
  await inStep(postgres.url, dataDir)
  await rotateMasterKey(store)
  await inStep(postgres.url, dataDir)
  await store.close()
  await postgres.stop()

  const { lastKnown } = await open(t, postgres.url, dataDir)
  assert.equal((await lastKnown.get(row!.kind, row!.account, row!.id))?.secrets?.token, 'abc')
})

test('a copy is used for no other database, and a damaged one is made anew', async (t) => {
  const { url } = await freshDatabase(t)
  const dataDir = makeDirectory(t)
  const store = await open(t, url, dataDir)
  await put(store, draft())
  await inStep(url, dataDir)
  await store.close()
  const other = new URL(url)
  other.port = '1'
  await assert.rejects(open(t, other.href, dataDir), StoreUnavailable)

  for (const end of ['-wal', '-shm']) rmSync(join(dataDir, LAST_KNOWN_FILE + end), { force: true })
  writeFileSync(join(dataDir, LAST_KNOWN_FILE), 'not a database at all '.repeat(1000))
  await open(t, url, dataDir)
  await inStep(url, dataDir)
})
