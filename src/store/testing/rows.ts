import assert from 'node:assert/strict'
import { NoSuchRow, StoreUnavailable, type Transaction } from '../store.ts'
import { ACCOUNT, draft, entry, OTHER, put, type StoreContract, write } from './fixtures.ts'

/** Rows, transactions and pages of rows. */
export const rowContract: StoreContract = {
  'calls that say which row they update see what the calls before them have written': async ({ store }) => {
    const row = draft({ id: 'th_1', data: { n: 0 } })
    await put(store, row)
    const increase = () =>
      store.write(
        {},
        async (tx) => {
          const { data } = (await tx.getForUpdate('thing', ACCOUNT, 'th_1'))!
          await tx.update({ ...row, data: { n: Number(data.n) + 1 } })
          await tx.audit(entry())
        },
        { forUpdate: { account: ACCOUNT, kind: 'thing', id: 'th_1' } },
      )

    await Promise.all(Array.from({ length: 20 }, increase))
    await increase()

    assert.deepEqual((await store.get('thing', ACCOUNT, 'th_1'))?.data, { n: 21 })
    assert.equal(await store.verifyAudit(ACCOUNT), undefined)
  },

  'a row is read back as written, also by another store': async ({ database, store }) => {
    const data = { text: 'ä\u0000\u{1f600}\ud800', list: [1, { deep: null }], empty: '' }

    const [written] = await put(store, draft({ id: 'th_1', data }))
    const read = await (await database.open()).get('thing', ACCOUNT, 'th_1')

    assert.deepEqual(read, written)
    assert.deepEqual(read?.data, data)
    assert.equal(read?.revision, 1)
    assert.equal(read?.secrets, undefined)
  },

  'a row is found only under its own account and kind': async ({ store }) => {
    await put(store, draft({ id: 'th_1' }))

    const rows = await Promise.all([
      store.get('thing', OTHER, 'th_1'),
      store.get('other', ACCOUNT, 'th_1'),
      store.get('thing', ACCOUNT, 'th_2'),
      store.get('thing', ACCOUNT, 'th_1\u0000'),
      store.get('thing', ACCOUNT, "'; --"),
    ])

    assert.deepEqual(rows, [undefined, undefined, undefined, undefined, undefined])
  },

  'an update replaces data, secrets, claims and references and keeps the creation time': async ({
    store,
  }) => {
    const target = draft({ id: 'th_target' })
    const first = draft({
      id: 'th_1',
      secrets: { token: 'one' },
      claims: [
        { scope: 'name', name: 'kept' },
        { scope: 'name', name: 'dropped' },
      ],
      references: [{ field: 'target', target: 'th_target', onDelete: 'restrict' }],
    })
    const [, created] = await put(store, target, first)

    const updated = await write(store, (tx) =>
      tx.update({
        ...first,
        data: { description: 'new' },
        secrets: undefined,
        claims: [
          { scope: 'name', name: 'kept' },
          { scope: 'name', name: 'added' },
        ],
        references: [],
      }),
    )

    const read = await store.get('thing', ACCOUNT, 'th_1')
    assert.deepEqual(read, updated)
    assert.deepEqual(read?.data, { description: 'new' })
    assert.equal(read?.secrets, undefined)
    assert.equal(read?.createdAt, created?.createdAt)
    assert.equal(read?.revision, 3)
    assert.equal((await store.holder('name', 'kept'))?.id, 'th_1')
    assert.equal((await store.holder('name', 'added'))?.id, 'th_1')
    assert.equal(await store.holder('name', 'dropped'), undefined)
    assert.deepEqual(await store.referrers('th_target', 10), [])
  },

  'an update of a missing row is rejected': async ({ store }) => {
    await assert.rejects(
      write(store, (tx) => tx.update(draft({ id: 'th_none' }))),
      NoSuchRow,
    )
  },

  'a call that throws is rolled back, and other calls in the same commit stay': async ({ store }) => {
    const failing = write(store, async (tx) => {
      await tx.insert(draft({ id: 'th_bad', claims: [{ scope: 'name', name: 'bad' }] }))
      throw new Error('changed my mind')
    })
    const outcomes = await Promise.allSettled([
      put(store, draft({ id: 'th_before' })),
      failing,
      put(store, draft({ id: 'th_after' })),
    ])

    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    assert.equal(await store.get('thing', ACCOUNT, 'th_bad'), undefined)
    assert.equal(await store.holder('name', 'bad'), undefined)
    assert.deepEqual(
      (await store.changes({ after: 0, limit: 10 })).map(({ id }) => id),
      ['th_before', 'th_after'],
    )
    assert.equal((await store.auditLog(ACCOUNT, { limit: 10 })).length, 2)
    assert.equal(await store.verifyAudit(ACCOUNT), undefined)
    assert.equal(await store.revision(), 2)
  },

  'a call reads its own writes, and no other reader does before the commit': async ({ store }) => {
    await put(store, draft({ id: 'th_1' }))

    await write(store, async (tx) => {
      await tx.update(draft({ id: 'th_1', data: { description: 'inside' } }))
      await tx.insert(draft({ id: 'th_2' }))
      assert.deepEqual((await tx.get('thing', ACCOUNT, 'th_1'))?.data, { description: 'inside' })
      assert.equal((await tx.list('thing', ACCOUNT, { limit: 10 })).length, 2)
      assert.deepEqual((await store.get('thing', ACCOUNT, 'th_1'))?.data, { description: 'a thing' })
      assert.equal(await store.get('thing', ACCOUNT, 'th_2'), undefined)
    })

    assert.ok(await store.get('thing', ACCOUNT, 'th_2'))
  },

  'a transaction cannot be used after it has ended': async ({ store }) => {
    let transaction: Transaction | undefined
    await write(store, async (tx) => {
      transaction = tx
    })

    await assert.rejects(async () => transaction?.insert(draft()), /over/)
  },

  'pages are ordered by the bytes of the id, newest first, and list each row once during writes': async ({
    store,
  }) => {
    const ids = ['th_Z', 'th_a', 'th_0', 'th_B', 'th_9', 'th_z', 'th_A', 'th_\u00e9', 'th_aa']
    await put(store, ...ids.map((id) => draft({ id })), draft({ id: 'th_m', account: OTHER }))
    const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(b), Buffer.from(a))

    const seen: string[] = []
    let before: string | undefined
    for (;;) {
      const page = await store.list('thing', ACCOUNT, { limit: 2, before })
      seen.push(...page.map(({ id }) => id))
      // Newer rows do not shift the following pages.
      await put(store, draft({ id: `th_\u00ff${seen.length}` }))
      if (page.length < 2) break
      before = page.at(-1)?.id
    }

    assert.deepEqual(seen, [...ids].sort(byBytes))
  },

  'a scan covers all accounts in ascending order of id': async ({ store }) => {
    await put(store, draft({ id: 'th_2', account: OTHER }), draft({ id: 'th_1' }), draft({ id: 'th_3' }))
    await put(store, draft({ id: 'ot_1', kind: 'other' }))

    const first = await store.scan('thing', { limit: 2 })
    const rest = await store.scan('thing', { limit: 2, after: first.at(-1)?.id })

    assert.deepEqual(
      [...first, ...rest].map(({ id }) => id),
      ['th_1', 'th_2', 'th_3'],
    )
  },

  'a closed store rejects calls with a clear error and can be closed again': async ({ store }) => {
    const last = put(store, draft({ id: 'th_1' }))
    await store.close()
    await store.close()

    assert.equal((await last).length, 1, 'a write in flight is finished first')
    await assert.rejects(put(store, draft()), StoreUnavailable)
    await assert.rejects(store.get('thing', ACCOUNT, 'th_1'), StoreUnavailable)
    await assert.rejects(store.check(), StoreUnavailable)
  },
}
