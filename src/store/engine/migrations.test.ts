import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { openStoreOf } from '../../../test/support/open-store.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { silentLog } from '../../base/process/log.ts'
import { ACCOUNT, draft, put } from '../testing/fixtures.ts'
import { IncompatibleSchema, migrate, requireCompatibleSchema } from './migrations.ts'
import { migrations, TABLES } from './schema.ts'
import { SqliteEngine, sqliteDialect } from './sqlite/sqlite.ts'

test('beside a running release only migrations that it is compatible with are run', async (t) => {
  const engine = new SqliteEngine(join(createTempDir(), 'adit.db'), silentLog)
  t.after(() => engine.close())
  await migrate(engine, migrations)
  const { version } = migrations.at(-1)!
  const next = (compatibleFrom: number) => [
    ...migrations,
    { version: version + 1, compatibleFrom, statements: () => [] },
  ]

  await requireCompatibleSchema(engine, migrations)
  await requireCompatibleSchema(engine, next(version))
  await assert.rejects(requireCompatibleSchema(engine, next(version + 1)), IncompatibleSchema)
})

test('a step that keeps earlier releases running only adds what they can leave out', () => {
  for (const { version, compatibleFrom, statements } of migrations) {
    if (compatibleFrom === version) continue
    const created = new Set<string>()
    for (const statement of statements(sqliteDialect)) {
      const [, table] = /^CREATE TABLE (\w+)/.exec(statement) ?? []
      if (table !== undefined) created.add(table)
      const [, unique, indexed] = /^CREATE (UNIQUE )?INDEX \w+ ON (\w+)/.exec(statement) ?? []
      const [, column] = /^ALTER TABLE \w+ ADD COLUMN (.+)$/.exec(statement) ?? []
      assert.ok(
        table !== undefined ||
          // A unique index could reject a row of an earlier release.
          (indexed !== undefined && (unique === undefined || created.has(indexed))) ||
          (column !== undefined && (/ DEFAULT /.test(column) || !/NOT NULL/.test(column))),
        `${version}: ${statement}`,
      )
    }
  }
})

test('an earlier release goes on, and starts again, on the tables of a later one', async (t) => {
  const dataDir = createTempDir()
  const open = async () => {
    const store = await openStoreOf({ dataDir, databaseUrl: undefined })
    t.after(() => store.close())
    return store
  }
  const earlier = await open()
  await put(earlier, draft({ id: 'th_before' }))
  const { version } = migrations.at(-1)!
  const later = new SqliteEngine(join(dataDir, 'adit.db'), silentLog)
  t.after(() => later.close())
  await migrate(later, [
    ...migrations,
    {
      version: version + 1,
      compatibleFrom: version,
      statements: ({ text, integer, clustered }) => [
        `CREATE TABLE later (id ${text} NOT NULL PRIMARY KEY)${clustered}`,
        ...TABLES.map((table) => `ALTER TABLE ${table} ADD COLUMN later ${integer} NOT NULL DEFAULT 0`),
      ],
    },
  ])

  await put(earlier, draft({ id: 'th_beside' }))
  const again = await open()
  await put(again, draft({ id: 'th_again' }))

  for (const store of [earlier, again])
    for (const id of ['th_before', 'th_beside', 'th_again'])
      assert.equal((await store.get('thing', ACCOUNT, id))?.id, id)
  assert.equal(await again.verifyAudit(ACCOUNT), undefined)
})
