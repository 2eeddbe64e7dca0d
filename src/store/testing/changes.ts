import assert from 'node:assert/strict'
import { eventually } from '../../../test/support/eventually.ts'
import { createRandom } from '../../../test/support/random.ts'
import { newId } from '../../base/values/id.ts'
import type { DurableStore } from '../durable-store.ts'
import type { Commit } from '../engine/changes.ts'
import type { Row } from '../store.ts'
import { ACCOUNT, draft, put, recorder, type StoreContract, write } from './fixtures.ts'

/** The log of changes and its followers. */
export const changeContract: StoreContract = {
  'changes record the operation, the author, and the row at that moment without its secrets': async ({
    store,
  }) => {
    const row = draft({ id: 'th_1', data: { n: 1 }, secrets: { token: 'hidden' } })
    await put(store, row)
    await write(store, (tx) => tx.update({ ...row, data: { n: 2 } }))
    await write(store, (tx) => tx.remove('thing', ACCOUNT, 'th_1'))

    const changes = await store.changes({ after: 0, limit: 10 })

    assert.deepEqual(
      changes.map(({ revision, op, data }) => [revision, op, data]),
      [
        [1, 'created', { n: 1 }],
        [2, 'updated', { n: 2 }],
        [3, 'deleted', { n: 2 }],
      ],
    )
    assert.ok(changes.every(({ principal, credential }) => principal === 'usr_1' && credential === 'ak_1'))
    assert.ok(changes.every(({ createdAt }) => createdAt === changes[0]?.createdAt))
    assert.doesNotMatch(JSON.stringify(changes), /hidden/)
    assert.deepEqual(
      (await store.changes({ after: 1, limit: 1 })).map(({ revision }) => revision),
      [2],
    )
  },

  'pruned changes are deleted and later ones stay': async ({ store }) => {
    for (let index = 0; index < 5; index += 1) await put(store, draft())

    await store.pruneChanges(3)

    assert.deepEqual(
      (await store.changes({ after: 0, limit: 10 })).map(({ revision }) => revision),
      [4, 5],
    )
  },

  'a follower gets all rows and then each change in order, for its kinds only': async ({ t, store }) => {
    await put(store, draft({ id: 'th_1' }), draft({ id: 'ot_1', kind: 'other' }))
    const recording = recorder()
    const following = await store.follow(['thing'], recording.follower)
    t.after(() => following.stop())
    assert.deepEqual([...recording.rows.keys()], ['th_1'])
    assert.deepEqual(recording.revisions, [2])

    await put(store, draft({ id: 'th_2', secrets: { token: 'secret' } }))
    await put(store, draft({ id: 'ot_2', kind: 'other' }))
    await write(store, (tx) => tx.update(draft({ id: 'th_1', data: { description: 'new' } })))
    await write(store, (tx) => tx.remove('thing', ACCOUNT, 'th_2'))
    await put(store, draft({ id: 'th_3', secrets: { token: 'secret' } }))
    await eventually(() => recording.rows.has('th_3'))

    assert.deepEqual([...recording.rows.keys()].sort(), ['th_1', 'th_3'])
    assert.deepEqual(recording.rows.get('th_1')?.data, { description: 'new' })
    assert.deepEqual(recording.rows.get('th_3')?.secrets, { token: 'secret' })
    assert.deepEqual(
      recording.revisions,
      [...recording.revisions].sort((a, b) => a - b),
    )
  },

  'a follower that reads page by page gets every row once, what changed meanwhile, and owners alone where it asks for them':
    async ({ store }) => {
      const ids = Array.from({ length: 1_200 }, (_, index) => `th_${String(index).padStart(4, '0')}`)
      await put(store, ...ids.map((id) => draft({ id })), draft({ id: 'ow_1', kind: 'owned' }))
      const rows: string[] = []
      const owners: string[] = []
      const changed: string[] = []
      const revision = Promise.withResolvers<number>()
      let written: Promise<unknown> | undefined

      await store.follow(['thing', 'owned'], {
        ownersOf: new Set(['owned']),
        load: () => ({
          put(changes) {
            // During the load: the first page has been read.
            written ??= put(store, draft({ id: 'th_0000_new' }))
            for (const { id } of changes) rows.push(id)
          },
          putOwners: (kind, page) => {
            for (const { id, account } of page) owners.push(`${kind} ${id} ${account}`)
          },
          complete: revision.resolve,
        }),
        change: (changes) => void changed.push(...changes.map(({ id }) => id)),
      })
      await written
      await store.catchUp()

      assert.deepEqual(rows.filter((id) => id !== 'th_0000_new').sort(), ids)
      assert.ok([...rows, ...changed].includes('th_0000_new'))
      assert.deepEqual(owners, [`owned ow_1 ${ACCOUNT}`])
      assert.ok((await revision.promise) > 0)
    },

  'a process that catches up has what another has committed': async ({ database, store }) => {
    const other = await database.open()
    const recording = recorder()
    await store.follow(['thing'], recording.follower)
    for (const id of ['th_1', 'th_2', 'th_3']) {
      await put(other, draft({ id }))
      await store.catchUp()
      assert.ok(recording.rows.has(id))
    }
  },

  'a process that is told of a commit delivers it': async ({ database, store }) => {
    const commits: Commit[] = []
    const other = await database.open({ onCommit: (commit) => void commits.push(commit) })
    const recording = recorder()
    await store.follow(['thing'], recording.follower)
    const row = draft({ id: 'th_1', secrets: { token: 'secret' } })
    await put(other, row, draft({ id: 'ot_1', kind: 'other' }), draft({ id: 'th_2' }))
    await write(other, async (tx) => {
      await tx.update({ ...row, data: { description: 'new' } })
      await tx.remove('thing', ACCOUNT, 'th_2')
    })

    for (const commit of commits) store.receive(JSON.parse(JSON.stringify(commit)))
    // It may be reading what it has noticed by itself.
    await store.caughtUp()

    assert.deepEqual([...recording.rows.keys()], ['th_1'])
    const { kind, account, data, secrets, revision } = recording.rows.get('th_1')!
    assert.deepEqual(
      { kind, account, data, secrets, revision },
      {
        kind: 'thing',
        account: ACCOUNT,
        data: { description: 'new' },
        secrets: { token: 'secret' },
        revision: 4,
      },
    )
    assert.deepEqual(await store.get('thing', ACCOUNT, 'th_1'), recording.rows.get('th_1'))
  },

  'a process that was not told of a commit reads it before the next one': async ({ database, store }) => {
    const commits: Commit[] = []
    const other = await database.open({ onCommit: (commit) => void commits.push(commit) })
    const recording = recorder()
    await store.follow(['thing'], recording.follower)
    for (const id of ['th_1', 'th_2', 'th_3']) await put(other, draft({ id }))

    store.receive(commits.at(-1)!)
    await store.caughtUp()

    assert.deepEqual([...recording.rows.keys()].sort(), ['th_1', 'th_2', 'th_3'])
  },

  'a commit goes on from the one that it has waited for': async ({ database }) => {
    const commits: Commit[] = []
    const onCommit = (commit: Commit) => void commits.push(commit)
    const [one, other] = [await database.open({ onCommit }), await database.open({ onCommit })]
    const begun = Promise.withResolvers<void>()
    const waiting = Promise.withResolvers<void>()
    const first = write(one, async (tx) => {
      await tx.insert(draft({ id: 'th_1' }))
      begun.resolve()
      await waiting.promise
    })
    await begun.promise
    const second = put(other, draft({ id: 'th_2' }))
    // It waits for the lock of the first one by now, or will.
    await new Promise(setImmediate)
    waiting.resolve()
    await Promise.all([first, second])

    assert.deepEqual(commits[1]!.from, commits[0]!.to)
  },

  'a commit too large for a message is read': async ({ database, store }) => {
    const commits: Commit[] = []
    const other = await database.open({ onCommit: (commit) => void commits.push(commit) })
    const recording = recorder()
    await store.follow(['thing'], recording.follower)
    await put(other, draft({ id: 'th_1', data: { description: 'x'.repeat(300_000) } }))
    assert.ok(JSON.stringify(commits).length < 1_000)

    store.receive(commits[0]!)
    await store.caughtUp()

    assert.ok(recording.rows.has('th_1'))
  },

  'a stopped follower gets no more changes': async ({ store }) => {
    const stopped = recorder()
    const other = recorder()
    const following = await store.follow(['thing'], stopped.follower)
    await store.follow(['thing'], other.follower)

    following.stop()
    await put(store, draft({ id: 'th_1' }))
    await eventually(() => other.rows.has('th_1'))

    assert.equal(stopped.rows.size, 0)
  },

  'a follower that throws still gets the next change, and so do the others': async ({ store }) => {
    const failing = recorder()
    const other = recorder()
    await store.follow(['thing'], {
      reset: failing.follower.reset,
      change(changes) {
        failing.follower.change(changes)
        throw new Error('a bug in the follower')
      },
    })
    await store.follow(['thing'], other.follower)

    for (const id of ['th_1', 'th_2']) {
      await put(store, draft({ id }))
      await eventually(() => failing.rows.has(id))
      await eventually(() => other.rows.has(id))
    }

    assert.deepEqual([...failing.rows.keys()], ['th_1', 'th_2'])
  },

  'followers on two stores miss nothing while both write': async ({ database, store }) => {
    const second = await database.open()
    const random = createRandom()
    const recording = [recorder(), recorder()]
    await store.follow(['thing'], recording[0]!.follower)
    await second.follow(['thing'], recording[1]!.follower)
    const writer = async (target: DurableStore, name: string) => {
      for (let index = 0; index < 40; index += 1) {
        const id = `th_${name}_${random.below(15)}`
        await write(target, async (tx) => {
          const existing = await tx.get('thing', ACCOUNT, id)
          if (!existing) await tx.insert(draft({ id, data: { index } }))
          else if (random.below(3) === 0) await tx.remove('thing', ACCOUNT, id)
          else await tx.update(draft({ id, data: { index } }))
        })
      }
    }

    await Promise.all([writer(store, 'a'), writer(store, 'b'), writer(second, 'c'), writer(second, 'd')])
    await put(store, draft({ id: 'th_last' }))

    const expected = await store.list('thing', ACCOUNT, { limit: 100 })
    const sorted = (rows: Iterable<Row>) => [...rows].sort((a, b) => (a.id < b.id ? 1 : -1))
    for (const each of recording) {
      await eventually(() => each.rows.has('th_last'))
      assert.deepEqual(sorted(each.rows.values()), expected, `seed ${random.seed}`)
      assert.deepEqual(
        each.revisions,
        [...each.revisions].sort((a, b) => a - b),
      )
    }
  },

  'a follower that is too far behind is reset': async ({ database, store }) => {
    const recording = recorder()
    await store.follow(['thing'], recording.follower)
    await put(store, draft({ id: 'th_1' }))
    await eventually(() => recording.rows.has('th_1'))

    // The state after a long disconnection: rows changed, and their changes pruned.
    await database.execute("DELETE FROM resources WHERE id = 'th_1'")
    await database.execute('UPDATE head SET revision = 100, pruned = 100')
    await put(store, draft({ id: 'th_2' }))
    await eventually(() => recording.rows.has('th_2'))

    assert.deepEqual([...recording.rows.keys()], ['th_2'])
    assert.equal(recording.resets(), 2)
  },

  'a follower gets all of many rows': async ({ store }) => {
    const ids = Array.from({ length: 1_203 }, () => newId('th'))
    for (let start = 0; start < ids.length; start += 401) {
      await put(store, ...ids.slice(start, start + 401).map((id) => draft({ id })))
    }

    const recording = recorder()
    await store.follow(['thing', 'other'], recording.follower)

    assert.deepEqual([...recording.rows.keys()].sort(), [...ids].sort())
    assert.deepEqual(recording.revisions, [1_203])
  },
}
