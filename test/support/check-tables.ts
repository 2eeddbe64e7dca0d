import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'

/** The database of a server. */
export type TablesLocation = { readonly file: string } | { readonly url: string }

async function openTables(location: TablesLocation) {
  if ('file' in location) {
    const database = new DatabaseSync(location.file)
    assert.equal(database.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok')
    return {
      all: async (sql: string) => database.prepare(sql).all() as unknown[],
      close: async () => database.close(),
    }
  }
  const client = new pg.Client({ connectionString: location.url })
  await client.connect()
  return {
    all: async (sql: string) => (await client.query(sql)).rows as unknown[],
    close: () => client.end(),
  }
}

/** Asserts the invariants of the tables: no dangling references, and a history for every row (P3). */
export async function checkTables(location: TablesLocation): Promise<void> {
  const tables = await openTables(location)
  try {
    await checkRows(tables.all)
  } finally {
    await tables.close()
  }
}

async function checkRows(all: (sql: string) => Promise<unknown[]>): Promise<void> {
  const assertNone = async (what: string, sql: string) =>
    assert.deepEqual(await all(`${sql} LIMIT 3`), [], what)
  await assertNone(
    'a claim without its resource',
    'SELECT * FROM claims WHERE id NOT IN (SELECT id FROM resources)',
  )
  await assertNone(
    'a reference without its source',
    'SELECT * FROM refs WHERE id NOT IN (SELECT id FROM resources)',
  )
  await assertNone(
    'a dangling reference',
    'SELECT * FROM refs WHERE target NOT IN (SELECT id FROM resources)',
  )
  await assertNone(
    'a revision of the future',
    'SELECT * FROM resources WHERE revision > (SELECT revision FROM head)',
  )
  await assertNone(
    'a bot without its claim',
    "SELECT id FROM resources WHERE kind = 'bot_users' AND id NOT IN (SELECT id FROM claims)",
  )
  await assertNone(
    'a reserved address without its claim',
    "SELECT id FROM resources WHERE kind = 'reserved_addrs' AND id NOT IN (SELECT id FROM claims)",
  )
  await assertNone(
    'a destination without its secret',
    "SELECT id FROM resources WHERE kind = 'event_destinations' AND sealed IS NULL",
  )
  await assertNone(
    'a row without its audit record',
    "SELECT id FROM resources WHERE kind IN ('ip_policies', 'bot_users') AND id NOT IN (SELECT object FROM audit WHERE action = 'create')",
  )
  await assertNone(
    'a change of the future',
    'SELECT revision FROM changes WHERE revision > (SELECT revision FROM head)',
  )
}
