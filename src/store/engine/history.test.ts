import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { pino } from 'pino'
import { eventually } from '../../../test/support/eventually.ts'
import { isInFallbackCopy } from '../../../test/support/fallback-copy.ts'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { startRelay } from '../../../test/support/relay.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { silentLog } from '../../base/process/log.ts'
import { systemClock } from '../../base/values/clock.ts'
import { type DurableStore, openStore } from '../index.ts'
import { ACCOUNT, draft, put, recorder, write } from '../testing/fixtures.ts'
import { readHead } from './changes.ts'
import { type HistoryLoss, HistoryWatch } from './history.ts'

/** The tables that a change of a row writes. */
const CHANGED = ['resources', 'changes', 'audit', 'audit_heads', 'head']

/** A database that can lose its last commits, as one does that takes over as an asynchronous standby. */
async function createDatabase(t: TestContext) {
  const { url } = await createTestDatabase(t)
  const dataDir = createTempDir()
  const execute = async (...statements: string[]) => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      for (const statement of statements) await client.query(statement)
    } finally {
      await client.end()
    }
  }
  const restore = () =>
    execute(
      'BEGIN',
      'LOCK TABLE head',
      ...CHANGED.flatMap((table) => [
        `DELETE FROM ${table}`,
        `INSERT INTO ${table} SELECT * FROM ${table}_kept`,
      ]),
      'COMMIT',
    )
  return {
    dataDir,
    url,
    async open({ at = url, keepCopy = false, directory = dataDir } = {}) {
      const errors: Record<string, unknown>[] = []
      const log = pino({ level: 'error' }, { write: (line: string) => errors.push(JSON.parse(line)) })
      const options = { url: at, dataDir: directory, keepCopy, clock: systemClock, log }
      const store = await openStore({ ...options, masterKeyFile: join(dataDir, 'master.key') })
      t.after(() => store.close())
      return { store, errors }
    },
    /** What the standby has. */
    async mark() {
      for (const table of CHANGED)
        await execute(`DROP TABLE IF EXISTS ${table}_kept`, `CREATE TABLE ${table}_kept AS TABLE ${table}`)
    },
    /** What came after the mark is gone, as after a restore, under connections that stay. */
    restore,
    /** The standby takes over: the same, and so are all connections. */
    async failOver() {
      await restore()
      await execute(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      )
    },
  }
}

/** Writes although the first attempts find the connection gone. */
function putSoon(store: DurableStore): Promise<unknown> {
  return eventually(() => put(store, draft()).then(Boolean, () => false), 'a write')
}

test('a follower that has seen lost revisions reads everything again, also once others have overtaken them', async (t) => {
  const database = await createDatabase(t)
  const relay = await startRelay(t, Number(new URL(database.url).port))
  const relayed = new URL(database.url)
  relayed.port = String(relay.port)
  const { store: writer } = await database.open()
  const [deleted, changed] = await put(writer, draft(), draft())
  const { store: reader, errors } = await database.open({ at: relayed.href })
  const { follower, rows, resets } = recorder()
  await reader.follow(['thing'], follower)
  const losses: unknown[] = []
  reader.history.onLoss((loss) => losses.push(loss))
  await database.mark()
  await write(writer, (tx) => tx.remove(deleted!.kind, ACCOUNT, deleted!.id))
  await write(writer, (tx) => tx.update({ ...draft(), id: changed!.id, data: { description: 'lost' } }))
  await eventually(() => rows.get(changed!.id)?.data.description === 'lost', 'the reader has seen it')

  relay.freeze()
  await database.failOver()
  for (let count = 0; count < 5; count++) await putSoon(writer)
  relay.thaw()
  relay.cut()

  await eventually(() => rows.size === 7, 'the reader has what the database has')
  assert.ok(rows.has(deleted!.id), 'a lost deletion is undone')
  assert.deepEqual(rows.get(changed!.id)?.data, { description: 'a thing' })
  assert.equal(resets(), 2)
  const reported = errors.filter(({ msg }) => String(msg).startsWith('the database has lost revisions'))
  assert.equal(reported.length, 1)
  assert.equal(reported[0]!.revisions, 2)
  assert.match(String(reported[0]!.since), /^\d{4}-\d\d-\d\dT/)
  assert.equal(losses.length, 1)
})

test('revisions that were lost under an open connection, and that its writer overtakes, are noticed', async (t) => {
  const database = await createDatabase(t)
  const relay = await startRelay(t, Number(new URL(database.url).port))
  const relayed = new URL(database.url)
  relayed.port = String(relay.port)
  const { store: writer } = await database.open()
  await writer.follow(['thing'], recorder().follower)
  const [deleted] = await put(writer, draft(), draft())
  const { store: reader } = await database.open({ at: relayed.href })
  const { follower, rows } = recorder()
  await reader.follow(['thing'], follower)
  await database.mark()
  await write(writer, (tx) => tx.remove(deleted!.kind, ACCOUNT, deleted!.id))
  await eventually(() => !rows.has(deleted!.id), 'the reader has seen it')

  relay.freeze()
  await database.restore()
  for (let count = 0; count < 5; count++) await put(writer, draft())
  relay.thaw()
  relay.cut()

  await eventually(() => rows.size === 7 && rows.has(deleted!.id), 'the reader has what the database has')
})

test('readers of one process that notice a loss one after the other, with writers in between, tell of it once', async (t) => {
  const database = await createDatabase(t)
  const { store } = await database.open()
  await put(store, draft())
  await database.mark()
  await put(store, draft())
  const sql = store.engine.reader
  const position = await readHead(sql)
  await database.failOver()
  const losses: HistoryLoss[] = []
  const watch = new HistoryWatch(silentLog)
  watch.onLoss((loss) => losses.push(loss))

  const heads = []
  for (let count = 0; count < 2; count++) {
    const { store: writer } = await database.open()
    await putSoon(writer)
    heads.push(await readHead(sql))
    assert.equal(await watch.continues(sql, position, heads.at(-1)!), false)
  }

  assert.notEqual(heads[0]!.history, heads[1]!.history)
  assert.equal(losses.length, 1)
  assert.equal(losses[0]!.revisions, 1)
})

test('a node that was down while its database lost revisions finds that its copy has them', async (t) => {
  const database = await createDatabase(t)
  const node = { keepCopy: true, directory: createTempDir() }
  const { store: writer } = await database.open()
  await put(writer, draft())
  await database.mark()
  const [lost] = await put(writer, draft())
  const before = await database.open(node)
  await eventually(() => isInFallbackCopy(node.directory, lost!.id), 'the copy has it')
  await before.store.close()
  await database.failOver()
  await putSoon(writer)
  await putSoon(writer)

  const { errors } = await database.open(node)

  await eventually(() => !isInFallbackCopy(node.directory, lost!.id), 'the copy lacks what was lost')
  assert.equal(errors[0]!.revisions, 1)
})

test('the audit chain continues the record that the database has, not one that it lost', async (t) => {
  const database = await createDatabase(t)
  const { store: first } = await database.open()
  const { store: second } = await database.open()
  await put(first, draft())
  await database.mark()
  await put(first, draft())
  await database.failOver()

  // The same revision and number of records as those that the first has seen.
  await putSoon(second)
  await putSoon(first)

  // Idle connections end with the first use of each after the failover.
  await eventually(
    () =>
      first.verifyAudit(ACCOUNT).then(
        (problem) => problem === undefined,
        () => false,
      ),
    'the chain is whole',
  )
})

test('writers that come and go lose nothing, and no follower starts again', async (t) => {
  const database = await createDatabase(t)
  const { store: reader, errors } = await database.open({ keepCopy: true })
  const { follower, rows, resets } = recorder()
  await reader.follow(['thing'], follower)

  for (let count = 1; count <= 4; count++) {
    const { store } = await database.open()
    await put(store, draft(), draft())
    await put(reader, draft())
    await eventually(() => rows.size === 3 * count, 'the follower has the rows')
    await store.close()
  }

  assert.equal(resets(), 1)
  assert.deepEqual(errors, [])
})
