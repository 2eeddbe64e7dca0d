import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { NewerSchema } from '../engine/migrations.ts'
import { migrations } from '../engine/schema.ts'
import { ACCOUNT, draft, put, type StoreContract } from './fixtures.ts'

/** Migrations and versions of the schema. */
export const schemaContract: StoreContract = {
  'a newer schema is rejected unless it is compatible with this release': async ({ database, store }) => {
    await store.close()

    await database.execute('INSERT INTO schema_versions (version, compatible_from) VALUES (1000, 1000)')
    await assert.rejects(database.open(), (error) => {
      assert.ok(error instanceof NewerSchema)
      assert.match(error.message, /schema 1000.*start a newer release/)
      return true
    })
    await database.execute('UPDATE schema_versions SET compatible_from = 1 WHERE version = 1000')

    await (await database.open()).check()
  },

  'a migration killed after any statement is rolled back or continued': async ({
    t,
    database,
    store,
    createDatabase,
  }) => {
    await put(store, draft({ id: 'th_1', secrets: { token: 'kept' } }))
    const empty = await createDatabase(t)
    const [first, newest] = [migrations[0]!, migrations.at(-1)!]
    const last = first.statements(store.engine.dialect).length - 1
    const kills: [location: string, version: number, statement: number][] = [
      [empty.location, first.version, 0],
      [empty.location, first.version, Math.floor(last / 2)],
      [empty.location, first.version, last],
      [empty.location, newest.version, 0],
      [database.location, newest.version + 1, 0],
      [database.location, newest.version + 1, 2],
    ]

    for (const [location, atVersion, statement] of kills) {
      const script = fileURLToPath(new URL('../engine/migration-victim.fixture.ts', import.meta.url))
      const child = spawn(process.execPath, [script, location, String(atVersion), String(statement)], {
        stdio: 'inherit',
      })
      assert.deepEqual(await once(child, 'exit'), [null, 'SIGKILL'])
    }

    await put(await empty.open(), draft({ id: 'th_1' }))
    const reopened = await database.open()
    assert.deepEqual((await reopened.get('thing', ACCOUNT, 'th_1'))?.secrets, { token: 'kept' })
    assert.equal(await reopened.revision(), 1)
  },

  'stores that start together on an empty database agree on its tables and its key': async ({
    t,
    createDatabase,
  }) => {
    const database = await createDatabase(t)

    const stores = await Promise.all(Array.from({ length: 4 }, () => database.open()))
    await Promise.all(stores.map((store) => put(store, draft({ secrets: { token: 'shared' } }))))

    for (const store of stores) {
      const rows = await store.list('thing', ACCOUNT, { limit: 10 })
      assert.deepEqual(
        rows.map(({ secrets }) => secrets?.token),
        ['shared', 'shared', 'shared', 'shared'],
      )
    }
  },
}
