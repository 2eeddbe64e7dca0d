import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { execute, startPostgres } from '../../support/postgres.ts'
import { startNodes } from '../../support/rolling-restart.ts'
import { run } from '../../support/run.ts'
import { createTempDir } from '../../support/temp-dir.ts'
import { allWell } from './nodes.ts'
import { assertServed } from './served.ts'
import { startTraffic } from './traffic.ts'

/** The ways to put a dump back under running nodes, each a list of commands. */
const RESTORES: Readonly<Record<string, (url: string, maintenanceUrl: string, file: string) => Command[]>> = {
  'into a database that is created again': (url, maintenanceUrl, file) => [
    ['psql', '-q', maintenanceUrl, '-c', 'DROP DATABASE adit WITH (FORCE)', '-c', 'CREATE DATABASE adit'],
    ['pg_restore', '--single-transaction', '-d', url, file],
  ],
  'over the tables that nodes use': (url, _maintenanceUrl, file) => [
    ['pg_restore', '--clean', '--if-exists', '--single-transaction', '-d', url, file],
  ],
  'by replacing the rows of all tables': (url, _maintenanceUrl, file) => [
    ['sh', '-c', TRUNCATE_AND_LOAD, 'sh', url, file],
  ],
}

/** In one transaction, and on connections that stay as they are. */
const TRUNCATE_AND_LOAD = `(
  echo 'BEGIN;'
  psql -qAt "$1" -c "SELECT format('TRUNCATE %I;', tablename) FROM pg_tables WHERE schemaname = 'public'"
  pg_restore --data-only -f - "$2"
  echo 'COMMIT;'
) | psql -q -v ON_ERROR_STOP=1 "$1"`

type Command = [string, ...string[]]

async function runCommand(command: Command): Promise<void> {
  const { code, stderr } = await run(command, { PATH: process.env.PATH! })
  assert.equal(code, 0, `${command[0]}: ${stderr}`)
}

async function startDatabase(t: TestContext) {
  const postgres = await startPostgres()
  t.after(() => postgres.dispose())
  await execute(postgres.url, 'CREATE DATABASE adit')
  return { maintenanceUrl: postgres.url, url: new URL('/adit', postgres.url).href }
}

for (const [manner, restore] of Object.entries(RESTORES))
  test(`a dump that is restored ${manner} is what running nodes serve, also once new changes have overtaken it`, async (t) => {
    const { url, maintenanceUrl } = await startDatabase(t)
    const { nodes } = await startNodes(t, 2, () => url)
    const traffic = await startTraffic(t, nodes)
    const file = join(createTempDir(), 'adit.dump')
    await traffic.written(80)
    await runCommand(['pg_dump', '--format=custom', '-f', file, url])
    await traffic.written(80)
    await traffic.stopWriters()

    for (const command of restore(url, maintenanceUrl, file)) await runCommand(command)

    await allWell(nodes)
    const lost = await traffic.history.reconcile(traffic.calls[0]!)
    for (const kind of ['lost', 'restored after deletion', 'stale'])
      assert.ok(
        lost.some((difference) => difference.startsWith(`${kind}: `)),
        `${kind} ${lost}`,
      )
    traffic.writeAgain()
    await traffic.written(160)
    await traffic.stop()
    await traffic.history.verify(traffic.calls[1]!)
    await assertServed(nodes, url, traffic.history)
  })
