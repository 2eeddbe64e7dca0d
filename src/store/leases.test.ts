import assert from 'node:assert/strict'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { test } from 'node:test'
import { acquireLease, isLeased, requireLease } from './leases.ts'
import { LeaseLost } from './store.ts'

/** A database with the table of leases and a clock that tests set. */
function leaseTable() {
  const database = new DatabaseSync(':memory:')
  database.exec(
    'CREATE TABLE leases (name TEXT PRIMARY KEY, holder TEXT, fence INTEGER, ttl INTEGER, expires_at INTEGER)',
  )
  const table = {
    now: 1_000_000,
    sql: {
      now: () => table.now,
      get: (text: string, ...values: SQLInputValue[]) => database.prepare(text).get(...values),
      run: (text: string, ...values: SQLInputValue[]) => database.prepare(text).run(...values),
    } as unknown as Parameters<typeof requireLease>[0],
    acquire: (holder: string, ttlMs = 1000) => acquireLease((body) => body(table.sql), 'job', holder, ttlMs),
    require: (fence: number) => requireLease(table.sql, { name: 'job', fence }),
  }
  return table
}

test('a lease is held up to its last millisecond and not at its end', () => {
  const lease = { expires_at: 5000, ttl: 1000 }

  assert.equal(isLeased(lease, 4000), true)
  assert.equal(isLeased(lease, 4999), true)
  assert.equal(isLeased(lease, 5000), false)
  assert.equal(isLeased(lease, 5001), false)
})

test('a lease from before a reboot, which ends further away than it is long, is free', async () => {
  const table = leaseTable()
  await table.acquire('node-1')
  // The monotonic clock of a machine begins again at its start.
  table.now = 10

  assert.equal(isLeased({ expires_at: 1_001_000, ttl: 1000 }, table.now), false)
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
