import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { createClient } from '../support/api.ts'
import { checkTables } from '../support/check-tables.ts'
import { API_ONLY } from '../support/kill-server.ts'
import { createRandom } from '../support/random.ts'
import { startServerProcess } from '../support/server-process.ts'
import { type FileOperation, readTrace, simulatePowerLoss, straceCommand } from '../support/sync-trace.ts'
import { createTempDir } from '../support/temp-dir.ts'

const WRITES = 400
const CUTS = 60
const FILES = ['adit.db', 'adit.db-wal']

/** The wall clock in seconds, as strace prints it. */
const now = () => (performance.timeOrigin + performance.now()) / 1000

test(`no acknowledged write of ${WRITES} is lost when the power fails at any of ${CUTS} times (P2)`, async (t) => {
  if (spawnSync('strace', ['-D', '-o', '/dev/null', 'true']).status !== 0)
    return t.skip('system calls cannot be traced here: strace is missing or not allowed')
  const random = createRandom()
  t.diagnostic(`SEED=${random.seed}`)
  const dataDir = createTempDir()
  await (await startServerProcess(t, dataDir, API_ONLY)).stop()
  const before = new Map<string, Buffer>()
  for (const name of FILES) before.set(name, await readFile(join(dataDir, name)))
  const log = join(createTempDir(), 'trace')

  const server = await startServerProcess(t, dataDir, API_ONLY, { wrapper: straceCommand(log) })
  const call = createClient(server.url, server.apiKey)
  const acknowledged: { description: string; time: number }[] = []
  await Promise.all(
    [1, 2].map(async (writer) => {
      for (let write = 0; write < WRITES / 2; write++) {
        const description = `write ${writer}-${write}`
        await call.create('/ip_policies', { description })
        acknowledged.push({ description, time: now() })
      }
    }),
  )
  await server.kill()
  const operations = await readOperations(log, dataDir)
  const syncs = operations.filter(({ kind }) => kind === 'sync').length
  t.diagnostic(`${operations.length} operations, ${syncs} of them syncs`)

  const image = createTempDir()
  const lostAfterCut = async (cut: number, survives: (operation: FileOperation) => number, synced = true) => {
    for (const name of FILES) {
      const fileOperations = operations.filter(
        ({ file, time, kind }) => file === join(dataDir, name) && time <= cut && (synced || kind !== 'sync'),
      )
      await writeFile(
        join(image, name),
        simulatePowerLoss(Buffer.from(before.get(name)!), fileOperations, survives),
      )
    }
    const database = new DatabaseSync(join(image, 'adit.db'))
    const rows = database.prepare("SELECT data FROM resources WHERE kind = 'ip_policies'").all()
    database.close()
    const stored = new Set(rows.map(({ data }) => JSON.parse(String(data)).description))
    return acknowledged.filter(({ description, time }) => time <= cut && !stored.has(description))
  }
  const first = operations[0]!.time
  const last = acknowledged.at(-1)!.time
  for (let cut = 0; cut < CUTS; cut++) {
    const time = first + ((last - first) * (cut + random.below(1000) / 1000)) / CUTS
    // Unsynced writes are lost, complete or torn.
    const survives = cut % 2 === 0 ? () => 0 : () => random.pick([0, 1, random.below(100) / 100])

    assert.deepEqual(await lostAfterCut(time, survives), [], `the power fails at ${time}`)
    await checkTables({ file: join(image, 'adit.db') })
  }
  assert.deepEqual(await lostAfterCut(Number.POSITIVE_INFINITY, () => 0), [])
  // Proves that the test would detect a server that does not sync.
  assert.ok((await lostAfterCut(Number.POSITIVE_INFINITY, () => 0, false)).length > 0)
})

/** Waits for strace, which writes on for a moment after the traced process has exited. */
async function readOperations(log: string, dataDir: string): Promise<FileOperation[]> {
  const deadline = performance.now() + 60_000
  while (!/\+\+\+ killed by SIGKILL \+\+\+\s*$/.test((await readFile(log, 'latin1')).slice(-200))) {
    if (performance.now() > deadline) throw new Error('The trace did not end.')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return readTrace(log, (file) => FILES.some((name) => file === join(dataDir, name)))
}
