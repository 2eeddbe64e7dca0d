import assert from 'node:assert/strict'
import { ACCOUNT, draft, entry, OTHER, put, type StoreContract } from './fixtures.ts'

/** The audit log. */
export const auditContract: StoreContract = {
  'a call that changes rows writes exactly one audit record': async ({ store }) => {
    const none = store.write({}, (tx) => tx.insert(draft({ id: 'th_1' })))
    const two = store.write({}, async (tx) => {
      await tx.insert(draft({ id: 'th_2' }))
      await tx.audit(entry())
      await tx.audit(entry())
    })
    const outcomes = await Promise.allSettled([none, two])

    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['rejected', 'rejected'],
    )
    assert.deepEqual(await store.list('thing', ACCOUNT, { limit: 10 }), [])
    assert.deepEqual(await store.auditLog(ACCOUNT, { limit: 10 }), [])
  },

  'audit records are numbered, chained and listed newest first by account': async ({ store }) => {
    const log = (account: string, requestId: string) =>
      store.write({}, (tx) =>
        tx.audit({ ...entry(undefined, account), requestId, outcome: 'refused', detail: 'no' }),
      )
    for (const requestId of ['op_1', 'op_2', 'op_3']) await log(ACCOUNT, requestId)
    await log(OTHER, 'op_4')

    const first = await store.auditLog(ACCOUNT, { limit: 2 })
    const rest = await store.auditLog(ACCOUNT, { limit: 2, before: first.at(-1)?.id })

    assert.deepEqual(
      [...first, ...rest].map(({ requestId }) => requestId),
      ['op_3', 'op_2', 'op_1'],
    )
    assert.equal(new Set([...first, ...rest].map(({ hash }) => hash)).size, 3)
    assert.match(first[0]!.id, /^ae_[0-9A-Za-z]{27}$/)
    assert.equal(await store.verifyAudit(ACCOUNT), undefined)
    assert.equal(await store.verifyAudit(OTHER), undefined)
    assert.equal(await store.verifyAudit('ac_none'), undefined)
  },

  'an audit record that is edited, moved, added or removed is detected': async ({ database, store }) => {
    for (let index = 0; index < 6; index += 1) await put(store, draft())
    const records = (await store.auditLog(ACCOUNT, { limit: 10 })).reverse()
    const [first, second, third, , , last] = records.map(({ id }) => id)
    const restoreAll = async () => {
      await database.execute('DELETE FROM audit')
      await database.execute('INSERT INTO audit SELECT * FROM audit_copy')
    }
    await database.execute('CREATE TABLE audit_copy AS SELECT * FROM audit')
    const tampers: [statement: string, detected: string | undefined][] = [
      [`UPDATE audit SET principal = 'usr_2' WHERE id = '${second}'`, second],
      [`UPDATE audit SET object = '' WHERE id = '${third}'`, third],
      [`UPDATE audit SET changes = '[]' WHERE id = '${second}'`, second],
      [`UPDATE audit SET at = at + 1 WHERE id = '${last}'`, last],
      [`DELETE FROM audit WHERE id = '${second}'`, third],
      [`DELETE FROM audit WHERE id = '${last}'`, last],
      ['DELETE FROM audit', last],
      [`UPDATE audit SET account = '${OTHER}' WHERE id = '${first}'`, second],
    ]

    for (const [statement, detected] of tampers) {
      await database.execute(statement)
      assert.equal(await store.verifyAudit(ACCOUNT), detected, statement)
      await restoreAll()
    }

    assert.equal(await store.verifyAudit(ACCOUNT), undefined)
  },

  'two stores continue one audit chain': async ({ database, store }) => {
    const second = await database.open()
    for (let index = 0; index < 5; index += 1) await Promise.all([put(store, draft()), put(second, draft())])

    assert.equal((await store.auditLog(ACCOUNT, { limit: 100 })).length, 10)
    assert.equal(await store.verifyAudit(ACCOUNT), undefined)
  },
}
