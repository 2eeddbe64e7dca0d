import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { Beat } from '../engine/sql.ts'
import { SqliteConnection } from '../engine/sqlite/sqlite-connection.ts'
import { LeaseLost } from '../store.ts'
import { acquireLease, requireLease } from './leases.ts'

/** A database with the table of leases and a clock that tests set. */
function leaseTable() {
  const database = new DatabaseSync(':memory:')
  database.exec(
    'CREATE TABLE leases (name TEXT PRIMARY KEY, holder TEXT, fence INTEGER, ttl INTEGER, expires_at INTEGER)',
  )
  const sql = new SqliteConnection(database)
  const beat: Beat = async (statement) => statement(sql)
  const dialect = { leaseClock: 'lease_clock()' }
  const table = {
    now: 1_000_000,
    acquire: (holder: string, ttlMs = 1000) => acquireLease({ beat, dialect }, 'job', holder, ttlMs),
    require: (fence: number) => requireLease(sql, dialect, { name: 'job', fence }),
  }
  database.function('lease_clock', () => table.now)
  return table
}

test('a lease is held up to its last millisecond and not at its end', async () => {
  const table = leaseTable()
  await table.acquire('node-1')
  table.now += 999
  await table.require(1)
  table.now += 1
  await assert.rejects(table.require(1), LeaseLost)
  table.now += 1
  await assert.rejects(table.require(1), LeaseLost)
})

test('a lease from before a reboot, which ends further away than it is long, is free', async () => {
  const table = leaseTable()
  await table.acquire('node-1')
  // The monotonic clock of a machine begins again at its start.
  table.now = 10

  await assert.rejects(table.require(1), LeaseLost)
  const next = await table.acquire('node-2')

  assert.equal(next?.fence, 2)
})

test('a holder that takes its own expired lease again gets a higher fence, and its older fence is void', async () => {
  const table = leaseTable()
  const first = await table.acquire('node-1')
  table.now += 1000

  const second = await table.acquire('node-1')

  assert.equal(first?.fence, 1)
  assert.equal(second?.fence, 2)
  assert.equal(await first?.renew(), false)
  await assert.rejects(table.require(1), LeaseLost)
  await table.require(2)
})

test('a holder that takes its own running lease again gets a higher fence too', async () => {
  const table = leaseTable()
  await table.acquire('node-1')

  assert.equal((await table.acquire('node-1'))?.fence, 2)
  assert.equal(await table.acquire('node-2'), undefined)
})

test('renewing extends a lease from now on, and an expired one cannot be renewed', async () => {
  const table = leaseTable()
  const lease = await table.acquire('node-1')
  table.now += 900

  assert.equal(await lease?.renew(), true)
  table.now += 999
  assert.equal(await table.acquire('node-2'), undefined)
  await table.require(lease!.fence)
  table.now += 1
  assert.equal(await lease?.renew(), false)
  await assert.rejects(table.require(lease!.fence), LeaseLost)
})

test('a released lease is free at once, and releasing late leaves the next holder alone', async () => {
  const table = leaseTable()
  const lease = await table.acquire('node-1')

  await lease?.release()
  const next = await table.acquire('node-2')
  await lease?.release()

  assert.equal(next?.fence, 2)
  assert.equal(next?.name, 'job')
  assert.equal(await next?.renew(), true)
})
