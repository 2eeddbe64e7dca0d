import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { inspect } from 'node:util'
import pg from 'pg'
import { eventually } from '../../../test/support/eventually.ts'
import { startTcp } from '../../../test/support/local-server.ts'
import { createTestDatabase, startPostgres } from '../../../test/support/postgres.ts'
import { startRelay } from '../../../test/support/relay.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { silentLog } from '../../base/process/log.ts'
import { systemClock } from '../../base/values/clock.ts'
import { type DurableStore, openStore, StoreUnavailable, UnsupportedDatabase } from '../index.ts'
import { storeContract } from '../store.contract.ts'
import { draft, put, recorder, type TestDatabase } from '../testing/fixtures.ts'
import { assertNothingLost, startWriters } from '../write/writers.contract.ts'
import { PostgresEngine } from './postgres.ts'

/** A new database on the server of this test run. */
async function createDatabase(t: TestContext): Promise<TestDatabase> {
  const { url, dataDir: serverFiles } = await createTestDatabase(t)
  const dataDir = createTempDir()
  const masterKeyFile = join(dataDir, 'master.key')
  return {
    location: url,
    masterKeyFile,
    directories: serverFiles === undefined ? undefined : [serverFiles],
    async open(overrides = {}) {
      const store = await openStore({
        url,
        dataDir,
        masterKeyFile,
        clock: systemClock,
        log: silentLog,
        ...overrides,
      })
      t.after(() => store.close())
      return store
    },
    execute: (statement, ...values) => execute(url, statement, ...values),
  }
}

async function execute(url: string, statement: string, ...values: (string | number | null)[]) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(statement, values)).rows
  } finally {
    await client.end()
  }
}

storeContract('postgres', createDatabase)

async function openAt(t: TestContext, url: string): Promise<DurableStore> {
  const dataDir = createTempDir()
  const masterKeyFile = join(dataDir, 'master.key')
  const store = await openStore({ url, dataDir, masterKeyFile, clock: systemClock, log: silentLog })
  t.after(() => store.close())
  return store
}

test('reads use no more connections than the engine was given', async (t) => {
  const { url } = await createTestDatabase(t)
  const engine = new PostgresEngine(url, silentLog, { maxReaders: 2 })
  t.after(() => engine.close())

  const reads = Array.from({ length: 20 }, () => engine.reader.get('SELECT pg_backend_pid() AS pid'))

  assert.equal(new Set((await Promise.all(reads)).map((row) => row?.pid)).size, 2)
})

test('reads and writes that wait for a lock end with their time, and leave no backends behind', async (t) => {
  const { url } = await createTestDatabase(t)
  const store = await openAt(t, url)
  await put(store, draft())
  const holder = new pg.Client({ connectionString: url })
  // The database is dropped with its connections.
  holder.on('error', () => {})
  await holder.connect()
  await holder.query('BEGIN; LOCK TABLE resources')

  for (let round = 0; round < 2; round++) {
    const calls = Array.from({ length: 20 }, () => store.list('thing', 'ac_one', { limit: 1 }))
    const outcomes = await Promise.allSettled([...calls, put(store, draft())])
    for (const outcome of outcomes)
      assert.ok(outcome.status === 'rejected' && outcome.reason instanceof StoreUnavailable)
  }

  const { rows } = await holder.query(
    `SELECT count(*) FILTER (WHERE state = 'active')::int AS active, count(*)::int AS total FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`,
  )
  assert.equal(rows[0].active, 0)
  assert.ok(rows[0].total <= 10, `${rows[0].total} connections`)
  await holder.query('ROLLBACK')
  await put(store, draft())
  assert.equal((await store.list('thing', 'ac_one', { limit: 9 })).length, 2)
})

test('a database that accepts connections and is silent is waited for once, not by each of several calls', async (t) => {
  let connections = 0
  const port = await startTcp(t, (socket) => {
    connections += 1
    socket.on('error', () => {}).resume()
  })
  const engine = new PostgresEngine(`postgres://adit@127.0.0.1:${port}/adit`, silentLog)
  t.after(() => engine.close())

  for (let call = 0; call < 3; call++) {
    await assert.rejects(engine.begin(), StoreUnavailable)
    await assert.rejects(async () => engine.reader.get('SELECT 1'), StoreUnavailable)
  }

  assert.equal(connections, 1)
})

test('postgres: a restart of the server does not end the store or its followers', {
  timeout: 60_000,
}, async (t) => {
  const server = await startPostgres()
  t.after(() => server.dispose())
  const store = await openAt(t, server.url)
  const seen = recorder()
  await store.follow(['thing'], seen.follower)
  await put(store, draft({ id: 'th_before' }))

  await server.stop()
  const outcomes = await Promise.allSettled([
    put(store, draft({ id: 'th_during' })),
    store.get('thing', 'ac_one', 'th_before'),
    store.check(),
    store.lease('job', 'node', 1_000),
  ])
  await server.start()

  for (const outcome of outcomes) {
    assert.ok(outcome.status === 'rejected' && outcome.reason instanceof StoreUnavailable)
  }
  // The store recovers by itself: the next write succeeds.
  await put(store, draft({ id: 'th_after' }))
  await eventually(() => seen.rows.has('th_after'))
  assert.deepEqual([...seen.rows.keys()].sort(), ['th_after', 'th_before'])
  assert.equal(seen.resets(), 1)
})

test('postgres: calls to a server that hangs time out, and succeed when it answers again', {
  timeout: 60_000,
}, async (t) => {
  const { url } = await createTestDatabase(t)
  const proxy = await startProxy(t, url)
  const store = await openAt(t, proxy.url)
  await put(store, draft({ id: 'th_before' }))

  proxy.hold()
  await assert.rejects(store.get('thing', 'ac_one', 'th_before'), StoreUnavailable)
  proxy.release()

  assert.ok(await store.get('thing', 'ac_one', 'th_before'))
})

test('postgres: a commit whose response is lost settles with its real outcome', {
  timeout: 60_000,
}, async (t) => {
  const { url } = await createTestDatabase(t)
  const proxy = await startProxy(t, url)
  const store = await openAt(t, proxy.url)
  await put(store, draft({ id: 'th_before' }))

  proxy.cutAt('NOTIFY', 'after the server has answered')
  await put(store, draft({ id: 'th_committed' }))
  proxy.cutAt('NOTIFY', 'before it reaches the server')
  await assert.rejects(put(store, draft({ id: 'th_aborted' })), (error) => {
    assert.ok(error instanceof StoreUnavailable)
    assert.match(error.message, /nothing was changed/)
    return true
  })

  assert.ok(await store.get('thing', 'ac_one', 'th_committed'))
  assert.equal(await store.get('thing', 'ac_one', 'th_aborted'), undefined)
  assert.equal(await store.verifyAudit('ac_one'), undefined)
  await put(store, draft({ id: 'th_after' }))
})

test('postgres: a commit that is lost in a failover is not taken for another transaction with its id', async (t) => {
  const primary = await startPostgres()
  t.after(() => primary.dispose())
  const url = new URL(primary.url)
  let takeOver: (() => void) | undefined
  const relay = await startRelay(t, Number(url.port), (chunk) => {
    if (chunk.includes('NOTIFY')) takeOver?.()
  })
  url.port = String(relay.port)
  const store = await openAt(t, url.href)
  await put(store, draft({ id: 'th_before' }))
  await primary.stop()
  const standby = await startPostgres({}, primary)
  t.after(() => standby.dispose())
  await primary.start()
  await eventually(() => put(store, draft()).then(Boolean, () => false), 'a write')
  // The standby lacks that write; other transactions have its id and those after it.
  for (let count = 0; count < 50; count++) await execute(standby.url, 'SELECT pg_current_xact_id()')

  takeOver = () => {
    takeOver = undefined
    relay.target = Number(new URL(standby.url).port)
    relay.cut()
  }
  await assert.rejects(put(store, draft({ id: 'th_lost' })), /nothing was changed/)

  await eventually(() => put(store, draft({ id: 'th_after' })).then(Boolean, () => false), 'a write')
  assert.equal(await store.get('thing', 'ac_one', 'th_lost'), undefined)
})

test('postgres: acknowledged writes survive a killed client', async (t) => {
  const { url } = await createTestDatabase(t)
  const dataDir = createTempDir()
  const acknowledged = new Map<string, string>()

  for (const run of ['r0', 'r1', 'r2']) {
    const writers = await startWriters(dataDir, url, run)
    await eventually(() => writers.acknowledged.size >= 20, 'writes under way')
    await writers.kill()
    for (const [id, state] of writers.acknowledged) acknowledged.set(id, state)
  }

  const masterKeyFile = join(dataDir, 'master.key')
  const store = await openStore({ url, dataDir, masterKeyFile, clock: systemClock, log: silentLog })
  t.after(() => store.close())
  await assertNothingLost(store, acknowledged)
})

test('postgres: a server that may lose acknowledged writes is rejected', async (t) => {
  const { url } = await createTestDatabase(t)
  await execute(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET synchronous_commit = off`)
  const withoutFsync = await startPostgres({ fsync: 'off' })
  t.after(() => withoutFsync.dispose())

  await assert.rejects(openAt(t, url), (error) => {
    assert.ok(error instanceof UnsupportedDatabase)
    assert.match(error.message, /synchronous_commit=off/)
    return true
  })
  await assert.rejects(openAt(t, withoutFsync.url), (error) => {
    assert.ok(error instanceof UnsupportedDatabase)
    assert.match(error.message, /fsync=off/)
    return true
  })
})

test('postgres: an unreachable address and an unsupported URL are rejected with a clear error', async (t) => {
  await assert.rejects(openAt(t, 'postgres://adit:hunter2@127.0.0.1:1/adit'), (error) => {
    assert.ok(error instanceof StoreUnavailable)
    assert.match(
      error.message,
      /^The PostgreSQL database cannot be used: .*nothing listens there \(connection refused\)/,
    )
    assert.doesNotMatch(inspect(error), /hunter2/)
    return true
  })
  await assert.rejects(openAt(t, 'mysql://adit:hunter2@127.0.0.1/adit'), (error) => {
    assert.ok(error instanceof UnsupportedDatabase)
    assert.doesNotMatch(inspect(error), /hunter2/)
    return true
  })
})

/** A proxy in front of the server that can hold all traffic, or drop a connection at a chosen moment. */
async function startProxy(t: TestContext, url: string) {
  const target = new URL(url)
  let holding = false
  let cut: { text: string; when: string } | undefined
  const queued: (() => void)[] = []
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    let dropOnResponse = false
    const drop = () => {
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', drop)
      socket.on('close', drop)
    }
    client.on('data', (chunk) => {
      if (cut && chunk.includes(cut.text)) {
        const { when } = cut
        cut = undefined
        if (when === 'before it reaches the server') return drop()
        dropOnResponse = true
      }
      const forward = () => upstream.write(chunk)
      if (holding) queued.push(forward)
      else forward()
    })
    upstream.on('data', (chunk) => (dropOnResponse ? drop() : client.write(chunk)))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const proxied = new URL(url)
  proxied.port = String((server.address() as AddressInfo).port)
  return {
    url: proxied.href,
    hold() {
      holding = true
    },
    release() {
      holding = false
      for (const forward of queued.splice(0)) forward()
    },
    cutAt(text: string, when: 'before it reaches the server' | 'after the server has answered') {
      cut = { text, when }
    },
  }
}
