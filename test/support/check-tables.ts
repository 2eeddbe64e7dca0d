import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'

/** Where the tables of a server are. */
export type TablesPlace = { readonly file: string } | { readonly url: string }

async function openTables(place: TablesPlace) {
  if ('file' in place) {
    const database = new DatabaseSync(place.file)
    assert.equal(database.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok')
    return {
      all: async (sql: string) => database.prepare(sql).all() as unknown[],
      close: async () => database.close(),
    }
  }
  const client = new pg.Client({ connectionString: place.url })
  await client.connect()
  return {
    all: async (sql: string) => (await client.query(sql)).rows as unknown[],
    close: () => client.end(),
  }
}

/** What must hold in the tables whatever happened: nothing points at nothing, and every row has its history (P3). */
export async function checkTables(place: TablesPlace): Promise<void> {
  const tables = await openTables(place)
  try {
    await checkRows(tables.all)
  } finally {
    await tables.close()
  }
}

async function checkRows(all: (sql: string) => Promise<unknown[]>): Promise<void> {
  const none = async (what: string, sql: string) => assert.deepEqual(await all(`${sql} LIMIT 3`), [], what)
  await none('a name without its holder', 'SELECT * FROM claims WHERE id NOT IN (SELECT id FROM resources)')
  await none('a reference from nowhere', 'SELECT * FROM refs WHERE id NOT IN (SELECT id FROM resources)')
  await none('a reference to nothing', 'SELECT * FROM refs WHERE target NOT IN (SELECT id FROM resources)')
  await none(
    'a revision of the future',
    'SELECT * FROM resources WHERE revision > (SELECT revision FROM head)',
  )
  await none(
    'a bot without its name',
    "SELECT id FROM resources WHERE kind = 'bot_users' AND id NOT IN (SELECT id FROM claims)",
  )
  await none(
    'an address that nobody holds',
    "SELECT id FROM resources WHERE kind = 'reserved_addrs' AND id NOT IN (SELECT id FROM claims)",
  )
  await none(
    'a destination without its secret',
    "SELECT id FROM resources WHERE kind = 'event_destinations' AND sealed IS NULL",
  )
  await none(
    'a row that no audit record tells of',
    "SELECT id FROM resources WHERE kind IN ('ip_policies', 'bot_users') AND id NOT IN (SELECT object FROM audit WHERE action = 'create')",
  )
  await none(
    'a change of the future',
    'SELECT revision FROM changes WHERE revision > (SELECT revision FROM head)',
  )
}
