import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { copyFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { silentLog } from '../../src/base/process/log.ts'
import { TABLES } from '../../src/store/engine/schema.ts'
import { backup, restore } from '../../src/store/index.ts'
import { draft, put } from '../../src/store/testing/fixtures.ts'
import { openStoreOf } from '../support/open-store.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { createTempDir } from '../support/temp-dir.ts'

const ROWS = 100_000
const ROWS_PER_CALL = 1000

type Store = Awaited<ReturnType<typeof openStoreOf>>

/** The number of rows of each table with a digest of them, whatever their order. */
async function summarise(store: Store): Promise<Record<string, string>> {
  const tables: Record<string, string> = {}
  for (const table of TABLES) {
    const rows = await store.engine.reader.all(`SELECT * FROM ${table}`)
    const lines = rows.map((row) => JSON.stringify(Object.entries(row).sort())).sort()
    tables[table] = `${lines.length} ${createHash('sha256').update(lines.join('\n')).digest('hex')}`
  }
  return tables
}

for (const engine of ['sqlite', 'postgres'] as const)
  test(`a backup of ${ROWS} rows of ${engine} restores completely (P6)`, async (t) => {
    const createLocation = async () => ({
      dataDir: createTempDir(),
      url: engine === 'postgres' ? (await createTestDatabase(t)).url : undefined,
      log: silentLog,
    })
    const open = async ({ dataDir, url: databaseUrl }: Awaited<ReturnType<typeof createLocation>>) => {
      const store = await openStoreOf({ dataDir, databaseUrl })
      t.after(() => store.close())
      return store
    }
    const source = await createLocation()
    const store = await open(source)
    for (let rows = 0; rows < ROWS; rows += ROWS_PER_CALL)
      await put(
        store,
        ...Array.from({ length: ROWS_PER_CALL }, (_, index) =>
          draft({
            claims: [{ scope: 'name', name: `name ${rows + index}` }],
            ...(index % 10 === 0 && { secrets: { token: `token ${rows + index}` } }),
          }),
        ),
      )
    const expected = await summarise(store)
    const archive = join(createTempDir(), 'backup.db')
    const target = await createLocation()

    const startedAt = performance.now()
    await backup(source, archive)
    const backedUpAt = performance.now()
    await restore(target, archive)
    const restoredAt = performance.now()

    const seconds = (from: number, to: number) => ((to - from) / 1000).toFixed(1)
    t.diagnostic(
      `${Math.round(statSync(archive).size / 2 ** 20)} MiB; backup ${seconds(startedAt, backedUpAt)} s, restore ${seconds(backedUpAt, restoredAt)} s`,
    )
    copyFileSync(join(source.dataDir, 'master.key'), join(target.dataDir, 'master.key'))
    const restored = await open(target)
    assert.deepEqual(await summarise(restored), expected)
    assert.equal(await restored.verifyAudit('ac_one'), undefined)
  })
