import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { createClient, tempDir } from '../support/api.ts'
import { checkTables } from '../support/check-tables.ts'
import { API_ONLY } from '../support/kill-server.ts'
import { freshDatabase } from '../support/postgres.ts'
import { createRandom } from '../support/random.ts'
import { startServerProcess } from '../support/server-process.ts'
import { WriteHistory } from '../support/write-history.ts'

const RUNS = Number(process.env.LONG_FAILPOINT_RUNS ?? 10)
const root = join(import.meta.dirname, '..', '..')

/** Every place in the store where the process can be made to end. */
async function storeFailpoints(): Promise<string[]> {
  const found = new Set<string>()
  for await (const file of glob('src/store/*.ts', { cwd: root }))
    for (const [, name] of (await readFile(join(root, file), 'utf8')).matchAll(/failpoint\('([^']+)'\)/g))
      found.add(name!)
  return [...found].sort()
}

const failpoints = await storeFailpoints()

test('there are failpoints around every step of a commit', () => {
  assert.ok(failpoints.length >= 12, failpoints.join(' '))
})

for (const engine of ['sqlite', 'postgres'] as const)
  for (const name of failpoints)
    test(`${engine}: a server that ends at ${name} leaves whole calls or none of them (P3)`, async (t) => {
      const random = createRandom()
      t.diagnostic(`SEED=${random.seed}`)
      const dataDir = await tempDir(t)
      const url = engine === 'postgres' ? (await freshDatabase(t)).url : undefined
      const flags = url === undefined ? API_ONLY : [...API_ONLY, '--database-url', url]
      const tables = url === undefined ? { file: join(dataDir, 'adit.db') } : { url }
      const history = new WriteHistory(random)
      const first = await startServerProcess(t, dataDir, flags)
      await first.stop()

      for (let run = 0; run < RUNS; run++) {
        const armed = { NODE_ENV: 'test', TEST_FAILPOINT: `${name}:${1 + random.below(60)}:exit` }
        // A start writes too, so that it may be the start that ends there.
        const server = await startServerProcess(t, dataDir, flags, { environment: armed }).catch(
          () => undefined,
        )
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
        const again = await startServerProcess(t, dataDir, flags)
        await history.verify(createClient(again.url, again.apiKey))
        await again.stop()
      }
    })
