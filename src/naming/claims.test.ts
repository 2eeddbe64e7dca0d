import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../test/support/eventually.ts'
import { createTempDir } from '../../test/support/temp-dir.ts'
import { silentLog } from '../base/process/log.ts'
import { systemClock } from '../base/values/clock.ts'
import {
  type NameClaimRequest,
  type NameClaimRows,
  openNameClaims,
  openStore,
  StoreUnavailable,
} from '../store/index.ts'
import { nameClaim } from '../store/testing/name-claim.ts'
import { type ClaimRejected, NameClaims } from './index.ts'

/** Claims in a database that can become unavailable, with a count of its changes. */
async function openRows(t: TestContext) {
  const dataDir = createTempDir()
  const masterKeyFile = join(dataDir, 'master.key')
  const store = await openStore({ dataDir, masterKeyFile, clock: systemClock, log: silentLog })
  t.after(() => store.close())
  const rows = openNameClaims(store)
  const database = { unavailable: false, changes: 0 }
  const guard = <Args extends unknown[], Answer>(call: (...args: Args) => Promise<Answer>) => {
    return async (...args: Args) => {
      if (database.unavailable) throw new StoreUnavailable('The database is unavailable.')
      return call(...args)
    }
  }
  const guarded: NameClaimRows = {
    ...rows,
    renew: guard(rows.renew),
    join: guard(rows.join),
    leave: guard(rows.leave),
    change: guard((...args) => {
      database.changes++
      return rows.change(...args)
    }),
  }
  return { rows, guarded, database }
}

/** A node with its claims, on a clock that a test can advance, and its confirmed and lost claims. */
async function startNode(t: TestContext, rows: NameClaimRows, nodeId = 'node-a') {
  const clock = { offset: 0, now: systemClock.now, monotonic: () => systemClock.monotonic() + clock.offset }
  const confirmed: [tunnel: string, fence: number][] = []
  const lost: string[] = []
  const claims = new NameClaims({
    rows,
    nodeId,
    startId: '1',
    spans: { graceMs: 60_000, cooldownMs: 0 },
    clock,
    log: silentLog,
    limits: { retryMs: 20, leaseMs: 60_000, stallMs: 30_000 },
  })
  await claims.start({
    confirm: (_account, _session, tunnel, fence) => void confirmed.push([tunnel, fence]),
    revoke: (_account, _session, tunnel) => void lost.push(tunnel),
  })
  t.after(() => claims.stop())
  return { claims, clock, confirmed, lost }
}

const isRejectedBecause = (because: ClaimRejected['because']) => (error: ClaimRejected) =>
  error.because === because

test('concurrent claims share a transaction', async (t) => {
  const { guarded, database } = await openRows(t)
  const { claims } = await startNode(t, guarded)
  database.changes = 0

  await Promise.all(Array.from({ length: 150 }, () => claims.claim(nameClaim(), false)))

  assert.ok(database.changes <= 2, `${database.changes} transactions`)
})

test('a released name can be claimed, a held one cannot', async (t) => {
  const { guarded } = await openRows(t)
  const { claims } = await startNode(t, guarded)
  const first = nameClaim({ name: 'test.adit.app' })
  await claims.claim(first, false)

  await assert.rejects(claims.claim(nameClaim({ name: 'test.adit.app' }), true), isRejectedBecause('held'))
  claims.release(first.tunnel, false)
  await claims.claim(nameClaim({ name: 'test.adit.app' }), false)
})

test('while the database is unavailable only names held before are granted, and confirmed when it is back', async (t) => {
  const { guarded, database } = await openRows(t)
  const { claims, confirmed, lost } = await startNode(t, guarded)
  database.unavailable = true

  await assert.rejects(claims.claim(nameClaim(), false), isRejectedBecause('unavailable'))
  const reclaimed = nameClaim()
  assert.equal(await claims.claim(reclaimed, true), 0)
  database.unavailable = false

  await eventually(() => confirmed.length === 1, 'the claim is stored')
  assert.equal(confirmed[0]![0], reclaimed.tunnel)
  assert.ok(confirmed[0]![1] > 0)
  assert.deepEqual(lost, [])
  await claims.claim(nameClaim(), false)
})

test('a name whose release is not stored yet is granted to its credential only', async (t) => {
  const { guarded, database } = await openRows(t)
  const { claims } = await startNode(t, guarded)
  const previous = nameClaim({ name: 'test.adit.app' })
  await claims.claim(previous, false)
  database.unavailable = true
  await assert.rejects(claims.claim(nameClaim(), false))

  claims.release(previous.tunnel, false)

  const other = nameClaim({ name: 'test.adit.app', credential: 'cr_2' })
  await assert.rejects(claims.claim(other, false), isRejectedBecause('unavailable'))
  await claims.claim(nameClaim({ name: 'test.adit.app' }), false)
})

test('the cost of a claim during an outage does not depend on the number of agents', async (t) => {
  const { guarded, database } = await openRows(t)
  const { claims } = await startNode(t, guarded)
  let reads = 0
  /** A claim that counts how often its name is looked at. */
  const counted = (changes: Partial<NameClaimRequest>) =>
    Object.defineProperty(nameClaim(changes), 'name', {
      get: () => {
        reads++
        return changes.name
      },
      enumerable: true,
    })
  const names = Array.from({ length: 1000 }, (_, index) => `test.adit.back${index}`)
  const previous = names.map((name) => counted({ name }))
  await Promise.all(previous.map((each) => claims.claim(each, false)))
  database.unavailable = true
  await assert.rejects(claims.claim(nameClaim(), false))
  for (const { tunnel } of previous) claims.release(tunnel, true)
  reads = 0

  await Promise.all(names.map((name) => claims.claim(counted({ name }), false)))

  assert.ok(reads <= 10 * names.length, `${reads} looks at names for ${names.length} claims`)
})

test('of two nodes that granted a name during a partition, the one without the claim loses it', async (t) => {
  const { rows, guarded, database } = await openRows(t)
  const cutOff = await startNode(t, guarded, 'node-a')
  const other = await startNode(t, rows, 'node-b')
  database.unavailable = true
  const provisional = nameClaim({ name: 'test.adit.app' })
  await cutOff.claims.claim(provisional, true)
  await other.claims.claim(nameClaim({ name: 'test.adit.app', account: 'ac_2' }), false)

  database.unavailable = false

  await eventually(() => cutOff.lost.length === 1, 'the name is given up')
  assert.deepEqual(cutOff.lost, [provisional.tunnel])
  assert.deepEqual(other.lost, [])
})

test('a stalled process serves nothing before its claims are verified', async (t) => {
  const { rows, guarded, database } = await openRows(t)
  const { claims, clock, lost } = await startNode(t, guarded)
  const [retained, lostClaim] = [nameClaim({ name: 'test.adit.kept' }), nameClaim({ name: 'test.adit.gone' })]
  for (const each of [retained, lostClaim]) await claims.claim(each, false)
  assert.ok(claims.serving)
  // What others do once the lease of a node has run out.
  await rows.leave({ id: 'node-a/1', leaseMs: 60_000 })
  const other = { id: 'node-b/1', leaseMs: 60_000 }
  const spans = { graceMs: 0, cooldownMs: 0 }
  await rows.change(
    other,
    { claims: [nameClaim({ name: 'test.adit.gone', account: 'ac_2' })], releases: [] },
    spans,
  )
  database.changes = 0

  clock.offset += 40_000

  assert.ok(!claims.serving)
  await eventually(() => claims.serving, 'the claims are verified')
  assert.ok(database.changes > 0)
  assert.deepEqual(lost, [lostClaim.tunnel])
})

test('one failure right after a stall does not count as a database outage', async (t) => {
  const { guarded, database } = await openRows(t)
  let failures = 1
  const broken: NameClaimRows = {
    ...guarded,
    async renew(...args) {
      if (failures-- > 0) throw new StoreUnavailable('The connection is broken.')
      return guarded.renew(...args)
    },
  }
  const { claims, clock, lost } = await startNode(t, broken)
  const lostClaim = nameClaim({ name: 'test.adit.gone' })
  await claims.claim(lostClaim, false)
  await guarded.leave({ id: 'node-a/1', leaseMs: 60_000 })
  const other = { id: 'node-b/1', leaseMs: 60_000 }
  const reclaimed = nameClaim({ name: 'test.adit.gone', account: 'ac_2' })
  await guarded.change(other, { claims: [reclaimed], releases: [] }, { graceMs: 0, cooldownMs: 0 })

  clock.offset += 40_000

  await eventually(() => claims.serving, 'the claims are verified')
  assert.deepEqual(lost, [lostClaim.tunnel])
  assert.ok(database.changes > 0)
})

test('a stall during a database outage does not stop serving for long', async (t) => {
  const { guarded, database } = await openRows(t)
  const { claims, clock, lost } = await startNode(t, guarded)
  await claims.claim(nameClaim(), false)
  database.unavailable = true

  clock.offset += 40_000

  assert.ok(!claims.serving)
  await eventually(() => claims.serving, 'they are served again')
  assert.deepEqual(lost, [])
})
