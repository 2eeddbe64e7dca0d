import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { eventually } from '../../../test/support/eventually.ts'
import { isInFallbackCopy } from '../../../test/support/fallback-copy.ts'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { silentLog } from '../../base/process/log.ts'
import { systemClock } from '../../base/values/clock.ts'
import {
  type DurableStore,
  migrateDatabase,
  openStore,
  probePostgres,
  type Row,
  StoreUnavailable,
  UnsupportedDatabase,
} from '../index.ts'
import { ACCOUNT, draft, put, write } from '../testing/fixtures.ts'
import { migrations } from './schema.ts'

const NEWEST = migrations.at(-1)!.version

async function execute(url: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

/** An empty database, and the URL of a user that may use tables there, but not create them. */
async function createDatabase(t: TestContext) {
  const { url } = await createTestDatabase(t)
  const user = `user_${randomBytes(6).toString('hex')}`
  await execute(
    url,
    `CREATE ROLE ${user} LOGIN`,
    'REVOKE CREATE ON SCHEMA public FROM PUBLIC',
    `ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO ${user}`,
  )
  // By then the database and what its user may do there are gone.
  t.after(() => execute(new URL('/postgres', url).href, `DROP ROLE ${user}`))
  const limited = new URL(url)
  limited.username = user
  return { ownerUrl: url, userUrl: limited.href, user }
}

async function open(t: TestContext, url: string, dataDir: string, keepCopy = false): Promise<DurableStore> {
  const masterKeyFile = join(dataDir, 'master.key')
  const store = await openStore({ url, dataDir, masterKeyFile, keepCopy, clock: systemClock, log: silentLog })
  t.after(() => store.close())
  return store
}

/** Puts rows into the database and waits until the copy can stand in for it: the first one may come without its revision. */
async function putIntoCopy(store: DurableStore, dataDir: string) {
  const rows = []
  for (let count = 0; count < 2; count++) {
    const [row] = await put(store, draft())
    await eventually(() => isInFallbackCopy(dataDir, row!.id), 'the copy has the row')
    rows.push(row!)
  }
  return rows as [Row, Row]
}

test('a user without the right to create tables runs on tables that are up to date', async (t) => {
  const { ownerUrl, userUrl } = await createDatabase(t)
  const dataDir = createTempDir()
  await (await open(t, ownerUrl, dataDir)).close()

  const store = await open(t, userUrl, dataDir)
  const [row] = await put(store, draft())

  assert.equal((await store.get(row!.kind, ACCOUNT, row!.id))?.id, row!.id)
})

test('a first start says which part of the configuration the database rejects', async (t) => {
  const { ownerUrl, userUrl, user } = await createDatabase(t)
  const missing = new URL(ownerUrl)
  missing.pathname = '/not_there'
  const reasons: [url: string, reason: RegExp][] = [
    [userUrl, /permission denied for schema public\. Grant its user the permissions/],
    [missing.href, /"not_there" does not exist\. Create the database, or correct its name/],
  ]

  for (const [url, reason] of reasons)
    await assert.rejects(open(t, url, createTempDir(), true), (error: Error) => {
      assert.ok(error instanceof StoreUnavailable)
      assert.match(error.message, reason)
      return true
    })
  await execute(ownerUrl, `ALTER ROLE ${user} NOLOGIN`)
  await assert.rejects(open(t, userUrl, createTempDir(), true), /not permitted to log in\. Check the user/)
})

test('a node that may not migrate serves from its copy, says so, and knows what was deleted meanwhile', async (t) => {
  const { ownerUrl, userUrl } = await createDatabase(t)
  const dataDir = createTempDir()
  const before = await open(t, ownerUrl, dataDir, true)
  const [row, other] = await putIntoCopy(before, dataDir)
  await before.close()
  const otherNode = await open(t, ownerUrl, dataDir)
  await write(otherNode, (tx) => tx.remove(row!.kind, row!.account, row!.id))
  await execute(ownerUrl, `DELETE FROM schema_versions WHERE version = ${NEWEST}`)

  const store = await open(t, userUrl, dataDir, true)

  await assert.rejects(store.check(), /(permission denied|must be owner).*adit server check/)
  await eventually(
    async () => (await store.fallbackReader.get(row!.kind, ACCOUNT, row!.id)) === undefined,
    'the copy lacks what was deleted',
  )
  assert.equal((await store.fallbackReader.get(other!.kind, ACCOUNT, other!.id))?.id, other!.id)
  await assert.rejects(store.check(), /permission denied|must be owner/)
  await execute(ownerUrl, `INSERT INTO schema_versions VALUES (${NEWEST}, 1)`)
  await eventually(() => store.check().then(() => true), 'it uses the database')
})

test('a node that has a copy does not fill an empty database', async (t) => {
  const { ownerUrl } = await createDatabase(t)
  const dataDir = createTempDir()
  const before = await open(t, ownerUrl, dataDir, true)
  const [row] = await putIntoCopy(before, dataDir)
  await before.close()
  await execute(ownerUrl, 'DROP SCHEMA public CASCADE', 'CREATE SCHEMA public')

  const store = await open(t, ownerUrl, dataDir, true)

  assert.equal((await store.fallbackReader.get(row!.kind, ACCOUNT, row!.id))?.id, row!.id)
  await assert.rejects(store.check(), /The database is empty, but this node has used it with data before/)
  await assert.rejects(put(store, draft()), StoreUnavailable)
})

test('tables of another application are left alone', async (t) => {
  for (const table of ['settings', 'schema_versions']) {
    const { ownerUrl } = await createDatabase(t)
    await execute(ownerUrl, `CREATE TABLE ${table} (anything text)`)

    await assert.rejects(open(t, ownerUrl, createTempDir()), (error: Error) => {
      assert.ok(error instanceof UnsupportedDatabase)
      assert.match(error.message, new RegExp(`has a table ${table} of another application`))
      return true
    })
  }
})

test('the rights that a user lacks are named, and what its owner has to do', async (t) => {
  const { ownerUrl, userUrl, user } = await createDatabase(t)
  const probe = async (url: string) => {
    const result = await probePostgres(url)
    assert.ok(typeof result === 'object', String(result))
    return result
  }
  assert.partialDeepStrictEqual(await probe(userUrl), { needsMigration: true, mayMigrate: false })

  const options = { url: ownerUrl, dataDir: createTempDir(), log: silentLog }
  assert.deepEqual(await migrateDatabase(options), { before: 0, after: NEWEST })
  assert.deepEqual(await migrateDatabase(options), { before: NEWEST, after: NEWEST })

  const rights = { missingGrants: [], needsMigration: false }
  assert.partialDeepStrictEqual(await probe(userUrl), { ...rights, mayMigrate: false, user })
  assert.partialDeepStrictEqual(await probe(ownerUrl), { ...rights, mayMigrate: true })
  await execute(ownerUrl, `REVOKE UPDATE, DELETE ON resources FROM ${user}`)
  assert.deepEqual((await probe(userUrl)).missingGrants, [
    `GRANT DELETE, UPDATE ON ALL TABLES IN SCHEMA public TO ${user};`,
  ])
  await execute(ownerUrl, 'REVOKE USAGE ON SCHEMA public FROM PUBLIC')
  assert.deepEqual((await probe(userUrl)).missingGrants, [`GRANT USAGE ON SCHEMA public TO ${user};`])
})
