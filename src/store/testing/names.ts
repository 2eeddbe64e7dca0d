import assert from 'node:assert/strict'
import { NameTaken } from '../store.ts'
import { ACCOUNT, draft, OTHER, put, type StoreContract, write } from './fixtures.ts'

/** Names that one row at most holds. */
export const nameContract: StoreContract = {
  'a name has one holder across all accounts, and is free after its holder is deleted': async ({ store }) => {
    const claims = [{ scope: 'domain', name: 'app.example.com' }]
    await put(store, draft({ id: 'th_1', claims }))

    await assert.rejects(put(store, draft({ id: 'th_2', account: OTHER, claims })), (error) => {
      assert.ok(error instanceof NameTaken)
      assert.deepEqual(error.claim, claims[0])
      assert.deepEqual(error.holder, { account: ACCOUNT, kind: 'thing', id: 'th_1' })
      return true
    })
    await put(store, draft({ id: 'th_3', claims: [{ scope: 'other', name: 'app.example.com' }] }))
    await write(store, (tx) => tx.remove('thing', ACCOUNT, 'th_1'))
    await put(store, draft({ id: 'th_2', account: OTHER, claims }))

    assert.deepEqual(await store.holder('domain', 'app.example.com'), {
      account: OTHER,
      kind: 'thing',
      id: 'th_2',
    })
  },

  'a call can retry with another name after NameTaken': async ({ store }) => {
    await put(store, draft({ id: 'th_1', claims: [{ scope: 'domain', name: 'a' }] }))

    await write(store, async (tx) => {
      const conflicting = draft({
        id: 'th_2',
        claims: [
          { scope: 'domain', name: 'free' },
          { scope: 'domain', name: 'a' },
        ],
      })
      await assert.rejects(tx.insert(conflicting), NameTaken)
      await tx.insert({ ...conflicting, claims: [{ scope: 'domain', name: 'b' }] })
    })

    assert.equal((await store.holder('domain', 'b'))?.id, 'th_2')
    assert.equal(await store.holder('domain', 'free'), undefined)
    assert.deepEqual(
      (await store.changes({ after: 1, limit: 10 })).map(({ id, op }) => [id, op]),
      [['th_2', 'created']],
    )
  },

  'exactly one of many concurrent calls for a name wins, across two stores': async ({ database, store }) => {
    const second = await database.open()
    const attempts = Array.from({ length: 20 }, (_, index) =>
      put(index % 2 ? store : second, draft({ claims: [{ scope: 'domain', name: 'wanted' }] })),
    )

    const outcomes = await Promise.allSettled(attempts)

    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
    assert.ok(
      outcomes.every((outcome) => outcome.status === 'fulfilled' || outcome.reason instanceof NameTaken),
    )
    assert.equal((await store.list('thing', ACCOUNT, { limit: 100 })).length, 1)
  },
}
