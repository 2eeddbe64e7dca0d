import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { silentLog } from '../../base/process/log.ts'
import { systemClock } from '../../base/values/clock.ts'
import type { DurableStore } from '../durable-store.ts'
import { LeaseLost, openStore } from '../index.ts'
import { openEventQueue, type QueuedEvent } from './event-queue.ts'

const LIMIT = 1000

async function createStore(t: TestContext, url?: string): Promise<DurableStore> {
  const dataDir = createTempDir()
  const store = await openStore({
    dataDir,
    url,
    masterKeyFile: join(dataDir, 'master.key'),
    clock: systemClock,
    log: silentLog,
  })
  t.after(() => store.close())
  return store
}

function events(count: number, destination = 'ed_a'): QueuedEvent[] {
  return Array.from({ length: count }, (_, index) => ({
    destination,
    account: 'ac_one',
    id: `ev_${String(index).padStart(6, '0')}`,
    type: 'test_event.v0',
    time: 5,
    body: `{"number":${index % 10}}`,
  }))
}

const ids = (listed: readonly { id: string }[]) => listed.map(({ id }) => Number(id.slice(3)))
const all = { limit: 10_000, maxBytes: 10_000_000 }

const engines = {
  sqlite: createStore,
  postgres: async (t: TestContext) => createStore(t, (await createTestDatabase(t)).url),
}

for (const [engine, create] of Object.entries(engines)) {
  test(`${engine}: added events are due immediately, in order and limited by number and size`, async (t) => {
    const queue = openEventQueue(await create(t))

    await queue.add(events(700), { now: 100, limit: LIMIT })

    assert.deepEqual(ids(await queue.listDue('ed_a', 100, all)), ids(events(700)))
    assert.deepEqual(ids(await queue.listDue('ed_a', 100, { limit: 2, maxBytes: 1_000 })), [0, 1])
    assert.deepEqual(ids(await queue.listDue('ed_a', 100, { limit: 500, maxBytes: 30 })), [0, 1])
    assert.deepEqual(await queue.listDue('ed_a', 99, all), [])
    assert.deepEqual(await queue.listDue('ed_b', 100, all), [])
    assert.equal(await queue.nextDueAt('ed_a'), 100)
    assert.equal(await queue.nextDueAt('ed_b'), undefined)
  })

  test(`${engine}: the events of changes are added once, together with the cursor`, async (t) => {
    const store = await create(t)
    const queue = openEventQueue(store)
    const lease = (await store.lease('events', 'one', 60_000))!
    const options = { now: 100, limit: LIMIT, lease }

    assert.equal(await queue.cursor(), undefined)
    assert.equal(await queue.addChanges(events(1), { ...options, from: undefined, to: 7 }), true)
    assert.equal(await queue.addChanges(events(3), { ...options, from: undefined, to: 7 }), false)
    assert.equal(await queue.addChanges(events(3), { ...options, from: 6, to: 9 }), false)
    assert.equal(await queue.addChanges([], { ...options, from: 7, to: 9 }), true)

    assert.equal(await queue.cursor(), 9)
    assert.equal((await queue.listDue('ed_a', 100, all)).length, 1)
  })

  test(`${engine}: a process that has lost the lease adds nothing`, async (t) => {
    const store = await create(t)
    const queue = openEventQueue(store)
    const lease = (await store.lease('events', 'one', 60_000))!
    await lease.release()
    await store.lease('events', 'two', 60_000)

    await assert.rejects(
      queue.addChanges(events(1), { now: 1, limit: LIMIT, from: undefined, to: 2, lease }),
      LeaseLost,
    )

    assert.equal(await queue.cursor(), undefined)
    assert.deepEqual(await queue.listDue('ed_a', 100, all), [])
  })

  test(`${engine}: events over the limit are counted and not stored`, async (t) => {
    const queue = openEventQueue(await create(t))

    await queue.add(events(3), { now: 1, limit: 5 })
    await queue.add(
      events(4).map((event) => ({ ...event, id: `ev_1${event.id.slice(4)}` })),
      { now: 1, limit: 5 },
    )

    const state = await queue.state('ed_a')
    assert.deepEqual([state?.queued, state?.overflowed, state?.enqueued], [5, 2, 5])
    assert.equal((await queue.listDue('ed_a', 1, all)).length, 5)
  })

  test(`${engine}: settling a batch deletes delivered events, reschedules failed ones and buries the rest`, async (t) => {
    const queue = openEventQueue(await create(t))
    await queue.add(events(5), { now: 1, limit: LIMIT })
    const settlement = {
      destination: 'ed_a',
      account: 'ac_one',
      now: 50,
      delivered: ['ev_000000', 'ev_000001'],
      failed: [
        { ids: ['ev_000002', 'ev_000003'], error: 'busy', dueAt: 500 },
        { ids: ['ev_000004'], error: 'too large', dueAt: undefined },
      ],
    }

    await queue.settle(settlement)
    // Another process settles the same batch later.
    await queue.settle({ ...settlement, failed: [] })

    assert.deepEqual(await queue.listDue('ed_a', 499, all), [])
    const waiting = await queue.listDue('ed_a', 500, all)
    assert.deepEqual(ids(waiting), [2, 3])
    assert.deepEqual(
      waiting.map(({ attempts, firstAt }) => [attempts, firstAt]),
      [
        [1, 1],
        [1, 1],
      ],
    )
    const dead = await queue.deadLetters('ed_a', { limit: 10 })
    assert.deepEqual(
      dead.map(({ id, error, deadAt, attempts }) => ({ id, error, deadAt, attempts })),
      [{ id: 'ev_000004', error: 'too large', deadAt: 50, attempts: 1 }],
    )
    assert.deepEqual(await queue.state('ed_a'), {
      destination: 'ed_a',
      account: 'ac_one',
      queued: 2,
      queuedBytes: 24,
      dead: 1,
      enqueued: 5,
      delivered: 2,
      failed: 3,
      overflowed: 0,
      lastSuccessAt: 50,
      lastErrorAt: 50,
      lastError: 'too large',
      goneRevision: undefined,
    })
  })

  test(`${engine}: dead letters are replayed from the first attempt, all or by id, up to the capacity`, async (t) => {
    const queue = openEventQueue(await create(t))
    await queue.add(events(4), { now: 1, limit: LIMIT })
    await queue.settle({
      destination: 'ed_a',
      account: 'ac_one',
      now: 50,
      delivered: [],
      failed: [{ ids: events(4).map(({ id }) => id), error: 'no', dueAt: undefined }],
      goneRevision: 3,
    })

    assert.equal(await queue.replay('ed_a', { now: 60, limit: LIMIT, ids: ['ev_000002', 'ev_none'] }), 1)
    assert.equal(await queue.replay('ed_a', { now: 61, limit: 3 }), 2)

    const waiting = await queue.listDue('ed_a', 100, all)
    assert.deepEqual(ids(waiting), [2, 0, 1])
    assert.deepEqual(
      waiting.map(({ attempts, firstAt }) => [attempts, firstAt]),
      [
        [0, 60],
        [0, 61],
        [0, 61],
      ],
    )
    const state = await queue.state('ed_a')
    assert.deepEqual([state?.queued, state?.dead, state?.goneRevision], [3, 1, undefined])
  })

  test(`${engine}: a purge deletes old dead letters and everything of deleted destinations`, async (t) => {
    const store = await create(t)
    const queue = openEventQueue(store)
    await store.write({}, async (tx) => {
      const row = { account: 'ac_one', data: {}, claims: [], references: [] }
      await tx.insert({ ...row, kind: 'event_destinations', id: 'ed_a' })
      await tx.audit({
        account: 'ac_one',
        principal: undefined,
        credential: undefined,
        source: undefined,
        requestId: 'op_1',
        action: 'create',
        kind: 'event_destinations',
        object: 'ed_a',
        outcome: 'done',
      })
    })
    await queue.add([...events(3), ...events(2, 'ed_gone')], { now: 1, limit: LIMIT })
    for (const [now, id] of [
      [50, 'ev_000000'],
      [70, 'ev_000001'],
    ] as const)
      await queue.settle({
        destination: 'ed_a',
        account: 'ac_one',
        now,
        delivered: [],
        failed: [{ ids: [id], error: 'no', dueAt: undefined }],
      })

    await queue.purge(60)

    assert.deepEqual(ids(await queue.deadLetters('ed_a', { limit: 10 })), [1])
    assert.deepEqual(ids(await queue.listDue('ed_a', 100, all)), [2])
    assert.deepEqual(await queue.listDue('ed_gone', 100, all), [])
    assert.deepEqual(
      (await queue.states()).map(({ destination, dead, queued }) => ({ destination, dead, queued })),
      [{ destination: 'ed_a', dead: 1, queued: 1 }],
    )
  })
}
