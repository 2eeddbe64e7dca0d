import assert from 'node:assert/strict'
import { NoSuchTarget, StillReferenced } from '../store.ts'
import { ACCOUNT, draft, OTHER, put, type StoreContract, write } from './fixtures.ts'

/** References between rows. */
export const referenceContract: StoreContract = {
  'a reference to a missing row or to another account is rejected': async ({ store }) => {
    await put(store, draft({ id: 'th_foreign', account: OTHER }))
    const pointing = (target: string) =>
      draft({ id: 'th_1', references: [{ field: 'target', target, onDelete: 'restrict' }] })

    for (const target of ['th_none', 'th_foreign']) {
      await assert.rejects(put(store, pointing(target)), (error) => {
        assert.ok(error instanceof NoSuchTarget)
        assert.equal(error.reference.target, target)
        return true
      })
    }
    await put(store, pointing('th_1'))
    await assert.rejects(
      write(store, (tx) => tx.update(pointing('th_foreign'))),
      NoSuchTarget,
    )

    assert.deepEqual(await store.referrers('th_foreign', 10), [])
    assert.equal((await store.referrers('th_1', 10)).length, 1)
  },

  'a row that is still referenced is not deleted': async ({ store }) => {
    await put(
      store,
      draft({ id: 'th_used' }),
      draft({ id: 'th_user', references: [{ field: 'via', target: 'th_used', onDelete: 'restrict' }] }),
    )

    await assert.rejects(
      write(store, (tx) => tx.remove('thing', ACCOUNT, 'th_used')),
      (error) => {
        assert.ok(error instanceof StillReferenced)
        assert.deepEqual(
          [error.referrer.id, error.referrer.kind, error.referrer.field],
          ['th_user', 'thing', 'via'],
        )
        return true
      },
    )
    await write(store, (tx) => tx.remove('thing', ACCOUNT, 'th_user'))

    assert.equal(await write(store, (tx) => tx.remove('thing', ACCOUNT, 'th_used')), true)
    assert.equal(await write(store, (tx) => tx.remove('thing', ACCOUNT, 'th_used')), false)
  },

  'cascading referrers are deleted with their target, the deepest first': async ({ store }) => {
    const cascade = (target: string) => [{ field: 'parent', target, onDelete: 'cascade' as const }]
    await put(
      store,
      draft({ id: 'th_root' }),
      draft({ id: 'th_child', references: cascade('th_root'), claims: [{ scope: 'name', name: 'child' }] }),
      draft({
        id: 'th_grandchild',
        references: [...cascade('th_child'), { field: 'root', target: 'th_root', onDelete: 'restrict' }],
      }),
      draft({ id: 'th_self', references: [...cascade('th_root'), ...cascade('th_self')] }),
    )

    await write(store, (tx) => tx.remove('thing', ACCOUNT, 'th_root'))

    assert.deepEqual(await store.list('thing', ACCOUNT, { limit: 10 }), [])
    assert.equal(await store.holder('name', 'child'), undefined)
    assert.deepEqual(
      (await store.changes({ after: 4, limit: 10 })).map(({ id, op }) => [id, op]),
      [
        ['th_grandchild', 'deleted'],
        ['th_self', 'deleted'],
        ['th_child', 'deleted'],
        ['th_root', 'deleted'],
      ],
    )
  },

  'a restricting reference from outside blocks the whole cascade': async ({ store }) => {
    await put(
      store,
      draft({ id: 'th_root' }),
      draft({ id: 'th_child', references: [{ field: 'parent', target: 'th_root', onDelete: 'cascade' }] }),
      draft({ id: 'th_user', references: [{ field: 'via', target: 'th_child', onDelete: 'restrict' }] }),
    )

    await assert.rejects(
      write(store, (tx) => tx.remove('thing', ACCOUNT, 'th_root')),
      StillReferenced,
    )

    assert.equal((await store.list('thing', ACCOUNT, { limit: 10 })).length, 3)
  },
}
