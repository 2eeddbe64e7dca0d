import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { createClient } from './api.ts'
import { checkTables } from './check-tables.ts'
import { eventually } from './eventually.ts'
import { openStoreOf } from './open-store.ts'
import { startPostgres } from './postgres.ts'
import { createRandom } from './random.ts'
import { startServerProcess } from './server-process.ts'
import { createTempDir } from './temp-dir.ts'
import { WriteHistory } from './write-history.ts'

/** Only the API role: nothing else writes, and the server starts quickly. */
export const API_ONLY = [
  ...['--roles', 'api', '--log-level', 'error', '--api-rate-limit', '0'],
  ...['--tcp-ports', '20000-60000'],
]

/** The size of a run and its database. */
export interface KillOptions {
  readonly kills: number
  readonly writers: number
  /** Minimum number of acknowledged writes. */
  readonly writes: number
  /** PostgreSQL instead of the embedded database. */
  readonly databaseUrl?: string
}

/** Kills a server repeatedly under concurrent writers. Every acknowledged write must survive (P1). */
export async function killUnderWriters(t: TestContext, options: KillOptions): Promise<void> {
  const { kills, writers, writes, databaseUrl } = options
  const random = createRandom()
  t.diagnostic(`SEED=${random.seed}`)
  const dataDir = createTempDir()
  const history = new WriteHistory(random)
  const flags = databaseUrl === undefined ? API_ONLY : [...API_ONLY, '--database-url', databaseUrl]
  const tables = databaseUrl === undefined ? { file: join(dataDir, 'adit.db') } : { url: databaseUrl }
  let slowestStartMs = 0
  let server = await startServerProcess(t, dataDir, flags)

  for (let kill = 1; kill <= kills; kill++) {
    const call = createClient(server.url, server.apiKey)
    const writing = Array.from({ length: writers }, async () => {
      while (await history.step(call));
    })
    await delay(50 + random.below(350))
    while (history.acknowledged < (writes * kill) / kills) await delay(5)
    await server.kill()
    await Promise.all(writing)
    if (kill % 5 === 0) await checkTables(tables)

    const startedAt = performance.now()
    server = await startServerProcess(t, dataDir, flags)
    slowestStartMs = Math.max(slowestStartMs, performance.now() - startedAt)
    await history.verify(createClient(server.url, server.apiKey))
  }

  await server.stop()
  t.diagnostic(
    `${history.acknowledged} acknowledged writes, ready again after ${Math.round(slowestStartMs)} ms at most`,
  )
  assert.ok(history.acknowledged >= writes, `only ${history.acknowledged} writes`)
  await checkTables(tables)
  await checkAudit(dataDir, databaseUrl)
}

async function checkAudit(dataDir: string, databaseUrl: string | undefined): Promise<void> {
  const store = await openStoreOf({ dataDir, databaseUrl })
  const [account] = await store.scan('accounts', { limit: 1 })
  assert.equal(await store.verifyAudit(account!.id), undefined, 'the audit chain is intact')
  await store.close()
}

/** Kills all processes of PostgreSQL repeatedly under concurrent writers; the server goes on. Every acknowledged write must survive (P2). */
export async function killDatabaseUnderWriters(
  t: TestContext,
  { kills, writers, writes }: Omit<KillOptions, 'databaseUrl'>,
): Promise<void> {
  const random = createRandom()
  t.diagnostic(`SEED=${random.seed}`)
  const postgres = await startPostgres()
  t.after(() => postgres.dispose())
  const dataDir = createTempDir()
  const history = new WriteHistory(random)
  const server = await startServerProcess(t, dataDir, [...API_ONLY, '--database-url', postgres.url])
  const call = createClient(server.url, server.apiKey)

  for (let kill = 1; kill <= kills; kill++) {
    const writing = Array.from({ length: writers }, async () => {
      while (await history.step(call));
    })
    while (history.acknowledged < (writes * kill) / kills) await delay(5)
    await delay(random.below(50))
    await postgres.kill()
    await Promise.all(writing)
    await postgres.start()
    await eventually(async () => (await call('GET', '/readyz?strict')).status === 200)
    await history.verify(call)
    await checkTables({ url: postgres.url })
  }

  await server.stop()
  t.diagnostic(`${history.acknowledged} acknowledged writes`)
  await checkAudit(dataDir, postgres.url)
}
