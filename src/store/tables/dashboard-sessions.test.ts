import assert from 'node:assert/strict'
import { test } from 'node:test'
import { engines } from '../../../test/support/engines.ts'
import { type DashboardSession, openDashboardSessions } from '../index.ts'

const LIMITS = { keep: 50, createdAfter: 0, seenAfter: 0 }

function session(id: string, changes: Partial<DashboardSession> = {}): DashboardSession {
  const defaults = { account: 'ac_1', owner: 'usr_1', apiKey: undefined, createdAt: 1000, seenAt: 1000 }
  return { id, ...defaults, ...changes }
}

for (const [engine, start] of Object.entries(engines)) {
  test(`${engine}: a session is found by its digest, touched and removed`, async (t) => {
    const sessions = openDashboardSessions((await start(t)).store)
    await sessions.add('one', session('das_1'), LIMITS)
    await sessions.add('two', session('das_2', { apiKey: 'ak_1', owner: 'bot_1' }), LIMITS)

    assert.deepEqual(await sessions.find('one'), session('das_1'))
    assert.deepEqual(await sessions.find('two'), session('das_2', { apiKey: 'ak_1', owner: 'bot_1' }))
    assert.equal(await sessions.find('three'), undefined)
    await sessions.touch('one', 2000)
    await sessions.touch('three', 2000)
    assert.equal((await sessions.find('one'))?.seenAt, 2000)
    await sessions.remove('one')
    await sessions.remove('one')
    assert.equal(await sessions.find('one'), undefined)
    assert.ok(await sessions.find('two'))
  })

  test(`${engine}: the last sign-in of an owner is known after the session has ended`, async (t) => {
    const sessions = openDashboardSessions((await start(t)).store)
    await sessions.add('one', session('das_1', { createdAt: 1000 }), LIMITS)
    await sessions.add('two', session('das_2', { createdAt: 3000 }), LIMITS)
    await sessions.add('three', session('das_3', { owner: 'usr_2', createdAt: 2000 }), LIMITS)
    await sessions.add('four', session('das_4', { owner: 'usr_3', account: 'ac_2' }), LIMITS)
    await sessions.removeByOwner('usr_1')

    assert.deepEqual(
      await sessions.lastSignIns('ac_1'),
      new Map([
        ['usr_1', 3000],
        ['usr_2', 2000],
      ]),
    )
  })

  test(`${engine}: all sessions of an owner but one are removed`, async (t) => {
    const sessions = openDashboardSessions((await start(t)).store)
    for (const number of [1, 2, 3]) await sessions.add(`d${number}`, session(`das_${number}`), LIMITS)
    await sessions.add('other', session('das_4', { owner: 'usr_2' }), LIMITS)

    await sessions.removeByOwner('usr_1', 'das_2')

    const remaining = await Promise.all(['d1', 'd2', 'd3', 'other'].map((digest) => sessions.find(digest)))
    assert.deepEqual(
      remaining.map((session) => session?.id),
      [undefined, 'das_2', undefined, 'das_4'],
    )
    await sessions.removeByOwner('usr_1')
    assert.equal(await sessions.find('d2'), undefined)
  })

  test(`${engine}: adding a session deletes expired ones and the owner's oldest beyond the limit`, async (t) => {
    const sessions = openDashboardSessions((await start(t)).store)
    await sessions.add('idle', session('das_1', { owner: 'usr_2', createdAt: 90, seenAt: 100 }), LIMITS)
    await sessions.add('old', session('das_2', { owner: 'usr_3', createdAt: 10, seenAt: 500 }), LIMITS)
    await sessions.add('kept', session('das_3', { owner: 'usr_2', createdAt: 90, seenAt: 500 }), LIMITS)
    const limits = { keep: 2, createdAfter: 10, seenAfter: 100 }

    for (const number of [4, 5, 6]) await sessions.add(`d${number}`, session(`das_${number}`), limits)

    const digests = ['idle', 'old', 'kept', 'd4', 'd5', 'd6']
    const remaining = await Promise.all(digests.map((digest) => sessions.find(digest)))
    assert.deepEqual(
      digests.filter((_, index) => remaining[index] !== undefined),
      ['kept', 'd5', 'd6'],
    )
  })
}
