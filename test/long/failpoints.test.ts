import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { createClient } from '../support/api.ts'
import { checkTables } from '../support/check-tables.ts'
import { API_ONLY } from '../support/kill-server.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { createRandom } from '../support/random.ts'
import { startServerProcess } from '../support/server-process.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { WriteHistory } from '../support/write-history.ts'

const RUNS = Number(process.env.LONG_FAILPOINT_RUNS ?? 10)
const root = join(import.meta.dirname, '..', '..')

/** All failpoints of the store. */
async function findFailpoints(): Promise<string[]> {
  const names = new Set<string>()
  for await (const file of glob('src/store/**/*.ts', { cwd: root }))
    for (const [, name] of (await readFile(join(root, file), 'utf8')).matchAll(/failpoint\('([^']+)'\)/g))
      names.add(name!)
  return [...names].sort()
}

const failpoints = await findFailpoints()

test('there are failpoints around every step of a commit', () => {
  assert.ok(failpoints.length >= 12, failpoints.join(' '))
})

for (const engine of ['sqlite', 'postgres'] as const)
  for (const name of failpoints)
    test(`${engine}: a server that exits at ${name} leaves complete calls or nothing of them (P3)`, async (t) => {
      const random = createRandom()
      t.diagnostic(`SEED=${random.seed}`)
      const dataDir = createTempDir()
      const url = engine === 'postgres' ? (await createTestDatabase(t)).url : undefined
      const flags = url === undefined ? API_ONLY : [...API_ONLY, '--database-url', url]
      const tables = url === undefined ? { file: join(dataDir, 'adit.db') } : { url }
      const history = new WriteHistory(random)
      const first = await startServerProcess(t, dataDir, flags)
      await first.stop()

      for (let run = 0; run < RUNS; run++) {
        const environment = { NODE_ENV: 'test', TEST_FAILPOINT: `${name}:${1 + random.below(60)}:exit` }
        // A start writes too, so the failpoint may fire during the start.
        const server = await startServerProcess(t, dataDir, flags, { environment }).catch(() => undefined)
        if (server !== undefined) {
          const call = createClient(server.url, server.apiKey)
          await Promise.all(
            Array.from({ length: 4 }, async () => {
              while (await history.step(call));
            }),
          )
          await server.ended()
        }
        await checkTables(tables)
        const restarted = await startServerProcess(t, dataDir, flags)
        await history.verify(createClient(restarted.url, restarted.apiKey))
        await restarted.stop()
      }
    })
