import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { startedSession } from '../../../test/support/visitors.ts'
import { silentLog } from '../../base/process/log.ts'
import { systemClock } from '../../base/values/clock.ts'
import { openApplicationSessions, openLoginRecords, openStore } from '../index.ts'
import { SessionInbox } from './session-inbox.ts'

async function open(t: TestContext, url?: string) {
  const dataDir = createTempDir()
  const options = { dataDir, url, masterKeyFile: join(dataDir, 'master.key') }
  const store = await openStore({ ...options, clock: systemClock, log: silentLog })
  t.after(() => store.close())
  return { sessions: openApplicationSessions(store), records: openLoginRecords(store) }
}

const engines = {
  sqlite: (t: TestContext) => open(t),
  postgres: async (t: TestContext) => open(t, (await createTestDatabase(t)).url),
}
const ALL = { from: undefined, limit: 100 }
const DAY_MS = 86_400_000

for (const [engine, create] of Object.entries(engines)) {
  test(`${engine}: one person has one row and a row for each session, newest first, apart for each account`, async (t) => {
    const { sessions } = await create(t)
    const [one, two] = [startedSession('ac_1'), startedSession('ac_1')]
    const again = { ...two, user: one.user, profile: { ...one.profile, name: 'Ada L.' } }

    await sessions.record([one, again, startedSession('ac_2')], [])
    await sessions.record([again], [])

    const users = await sessions.users('ac_1', ALL)
    const rows = await sessions.sessions('ac_1', ALL)
    assert.deepEqual(
      users.map(({ profile }) => profile.name),
      ['Ada L.'],
    )
    assert.deepEqual(
      rows.map(({ id, userId }) => [id, userId]),
      [
        [two.id, users[0]!.id],
        [one.id, users[0]!.id],
      ],
    )
    assert.deepEqual(rows[1]!.details, one.details)
    const older = await sessions.sessions('ac_1', { from: one.id, limit: 100 })
    assert.deepEqual(
      older.map(({ id }) => id),
      [one.id],
    )
  })

  test(`${engine}: activity moves forward only, and extends the session`, async (t) => {
    const { sessions } = await create(t)
    const session = startedSession('ac_1')
    const activityAfter = (ms: number) => ({
      account: 'ac_1',
      id: session.id,
      lastActive: session.startedAt + ms,
      expiresAt: session.expiresAt + ms,
    })

    await sessions.record([session], [activityAfter(60_000)])
    await sessions.record([], [activityAfter(30_000)])

    const [row] = await sessions.sessions('ac_1', ALL)
    const [user] = await sessions.users('ac_1', ALL)
    assert.deepEqual(
      [row!.lastActive, row!.expiresAt],
      [activityAfter(60_000).lastActive, activityAfter(60_000).expiresAt],
    )
    assert.equal(user!.lastActive, activityAfter(60_000).lastActive)
  })

  test(`${engine}: ending a session or removing a user revokes, in their own account alone`, async (t) => {
    const { sessions, records } = await create(t)
    const session = startedSession('ac_1')
    const other = { ...startedSession('ac_1'), user: session.user }
    await sessions.record([session, other], [])
    const [user] = await sessions.users('ac_1', ALL)

    assert.equal(await sessions.endSession('ac_2', session.id), undefined)
    assert.equal(await sessions.removeUser('ac_2', user!.id, Date.now()), undefined)
    assert.equal((await sessions.endSession('ac_1', session.id))?.subject, session.id)
    assert.equal(await sessions.endSession('ac_1', session.id), undefined)
    assert.equal((await sessions.removeUser('ac_1', user!.id, Date.now()))?.scopeId, 'ac_1')

    assert.deepEqual([await sessions.users('ac_1', ALL), await sessions.sessions('ac_1', ALL)], [[], []])
    const { revocations } = await records.revocationsAfter(0, 10)
    assert.deepEqual(
      revocations.map(({ scopeId, subject }) => [scopeId, subject]),
      [
        [session.scopeId, session.id],
        ['ac_1', session.user],
      ],
    )
    // Reported late: it has been revoked already.
    await sessions.record([other], [])
    assert.deepEqual(await sessions.users('ac_1', ALL), [])
  })

  test(`${engine}: expired sessions are purged at once, users some time after their last`, async (t) => {
    const { sessions, records } = await create(t)
    const session = startedSession('ac_1')
    await sessions.record([session], [])

    await records.purge(session.expiresAt)
    assert.deepEqual(await sessions.sessions('ac_1', ALL), [])
    assert.equal((await sessions.users('ac_1', ALL)).length, 1)
    await records.purge(session.startedAt + 90 * DAY_MS)

    assert.deepEqual(await sessions.users('ac_1', ALL), [])
  })
}

test('reports are kept while they cannot be written, and written once', async () => {
  const written: string[] = []
  let isAvailable = false
  const record = async (
    started: readonly { id: string }[],
    activity: readonly { id: string; lastActive: number }[],
  ) => {
    if (!isAvailable) throw new Error('unavailable')
    written.push(
      ...started.map(({ id }) => id),
      ...activity.map(({ id, lastActive }) => `${id} ${lastActive}`),
    )
  }
  const inbox = new SessionInbox({ record }, silentLog)
  inbox.addSession(startedSession('ac_1', { id: 'as_1' }))
  for (const lastActive of [1, 2])
    inbox.addActivity({ account: 'ac_1', id: 'as_1', lastActive, expiresAt: 9 })

  await assert.rejects(inbox.flush())
  isAvailable = true
  await inbox.flush()
  await inbox.flush()

  assert.deepEqual(written, ['as_1', 'as_1 2'])
})
