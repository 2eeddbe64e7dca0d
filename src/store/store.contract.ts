import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { copyFileSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { eventually } from '../../test/support/eventually.ts'
import { createRandom } from '../../test/support/random.ts'
import type { Clock } from '../base/clock.ts'
import { systemClock } from '../base/clock.ts'
import { newId } from '../base/id.ts'
import type { DurableStore } from './durable-store.ts'
import { createMasterKeyFile, Keyring, MasterKeyError } from './master-key.ts'
import { NewerSchema } from './migrations.ts'
import { addMasterKey, rotateMasterKey } from './rotate.ts'
import { migrations } from './schema.ts'
import { UnsealError } from './seal.ts'
import {
  type AuditEntry,
  type Draft,
  type Follower,
  LeaseLost,
  NameTaken,
  NoSuchRow,
  NoSuchTarget,
  type Row,
  StillReferenced,
  StoreUnavailable,
  type Transaction,
} from './store.ts'

/** The database of one test: stores can be opened on it, and tests can inspect it and tamper with it. */
export interface TestDatabase {
  /** The SQLite file or the PostgreSQL URL. */
  readonly location: string
  readonly masterKeyFile: string
  open(overrides?: { clock?: Clock; masterKeyFile?: string }): Promise<DurableStore>
  /** Runs a statement that bypasses the store. */
  execute(statement: string, ...values: (string | number | null)[]): Promise<Record<string, unknown>[]>
  /** Directories with all files of the engine; undefined when they are not accessible. */
  readonly directories: readonly string[] | undefined
}

const ACCOUNT = 'ac_one'
const OTHER = 'ac_two'

/** A minimal audit entry. */
export function entry(object?: string, account = ACCOUNT): AuditEntry {
  return {
    account,
    principal: 'usr_1',
    credential: 'ak_1',
    source: '192.0.2.1',
    requestId: 'op_1',
    action: 'create',
    kind: 'thing',
    object,
    outcome: 'done',
  }
}

/** A minimal draft. */
export function draft(overrides: Partial<Draft> = {}): Draft {
  return {
    kind: 'thing',
    id: newId('th'),
    account: ACCOUNT,
    data: { description: 'a thing' },
    claims: [],
    references: [],
    ...overrides,
  }
}

/** Writes rows in one audited call. */
export function put(store: DurableStore, ...drafts: Draft[]): Promise<Row[]> {
  return write(store, async (tx) => {
    const rows: Row[] = []
    for (const each of drafts) rows.push(await tx.insert(each))
    return rows
  })
}

/** Runs a call with its audit record. */
export function write<T>(store: DurableStore, work: (tx: Transaction) => Promise<T>): Promise<T> {
  return store.write({ principal: 'usr_1', credential: 'ak_1' }, async (tx) => {
    const value = await work(tx)
    await tx.audit(entry())
    return value
  })
}

/** A follower that records rows and revisions. */
export function recorder() {
  const rows = new Map<string, Row>()
  const revisions: number[] = []
  let resets = 0
  const follower: Follower = {
    reset(all, revision) {
      rows.clear()
      for (const row of all) rows.set(row.id, row)
      revisions.push(revision)
      resets += 1
    },
    change(changes) {
      for (const { id, row, revision } of changes) {
        if (row) rows.set(id, row)
        else rows.delete(id)
        revisions.push(revision)
      }
    },
  }
  return {
    follower,
    rows,
    revisions,
    resets: () => resets,
  }
}

/** The contract of both engines; each test gets a new database. */
export function storeContract(
  engine: string,
  createDatabase: (t: TestContext) => Promise<TestDatabase>,
): void {
  const contract = (
    name: string,
    body: (context: { t: TestContext; database: TestDatabase; store: DurableStore }) => Promise<void>,
  ) =>
    test(`${engine}: ${name}`, async (t) => {
      const database = await createDatabase(t)
      await body({ t, database, store: await database.open() })
    })

  contract('a row is read back as written, also by another store', async ({ database, store }) => {
    const data = { text: 'ä\u0000\u{1f600}\ud800', list: [1, { deep: null }], empty: '' }

    const [written] = await put(store, draft({ id: 'th_1', data }))
    const read = await (await database.open()).get('thing', ACCOUNT, 'th_1')

    assert.deepEqual(read, written)
    assert.deepEqual(read?.data, data)
    assert.equal(read?.revision, 1)
    assert.equal(read?.secrets, undefined)
  })

  contract('a row is found only under its own account and kind', async ({ store }) => {
    await put(store, draft({ id: 'th_1' }))

    const rows = await Promise.all([
      store.get('thing', OTHER, 'th_1'),
      store.get('other', ACCOUNT, 'th_1'),
      store.get('thing', ACCOUNT, 'th_2'),
      store.get('thing', ACCOUNT, 'th_1\u0000'),
      store.get('thing', ACCOUNT, "'; --"),
    ])

    assert.deepEqual(rows, [undefined, undefined, undefined, undefined, undefined])
  })

  contract(
    'an update replaces data, secrets, claims and references and keeps the creation time',
    async ({ store }) => {
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
  )

  contract('an update of a missing row is rejected', async ({ store }) => {
    await assert.rejects(
      write(store, (tx) => tx.update(draft({ id: 'th_none' }))),
      NoSuchRow,
    )
  })

  contract(
    'a call that throws is rolled back, and other calls in the same commit stay',
    async ({ store }) => {
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
  )

  contract('a call reads its own writes, and no other reader does before the commit', async ({ store }) => {
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
  })

  contract('a transaction cannot be used after it has ended', async ({ store }) => {
    let transaction: Transaction | undefined
    await write(store, async (tx) => {
      transaction = tx
    })

    await assert.rejects(async () => transaction?.insert(draft()), /over/)
  })

  contract('a call that changes rows writes exactly one audit record', async ({ store }) => {
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
  })

  contract(
    'a name has one holder across all accounts, and is free after its holder is deleted',
    async ({ store }) => {
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
  )

  contract('a call can retry with another name after NameTaken', async ({ store }) => {
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
  })

  contract(
    'exactly one of many concurrent calls for a name wins, across two stores',
    async ({ database, store }) => {
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
  )

  contract('a reference to a missing row or to another account is rejected', async ({ store }) => {
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
  })

  contract('a row that is still referenced is not deleted', async ({ store }) => {
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
  })

  contract('cascading referrers are deleted with their target, the deepest first', async ({ store }) => {
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
  })

  contract('a restricting reference from outside blocks the whole cascade', async ({ store }) => {
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
  })

  contract(
    'pages are ordered by the bytes of the id, newest first, and list each row once during writes',
    async ({ store }) => {
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
  )

  contract('a scan covers all accounts in ascending order of id', async ({ store }) => {
    await put(store, draft({ id: 'th_2', account: OTHER }), draft({ id: 'th_1' }), draft({ id: 'th_3' }))
    await put(store, draft({ id: 'ot_1', kind: 'other' }))

    const first = await store.scan('thing', { limit: 2 })
    const rest = await store.scan('thing', { limit: 2, after: first.at(-1)?.id })

    assert.deepEqual(
      [...first, ...rest].map(({ id }) => id),
      ['th_1', 'th_2', 'th_3'],
    )
  })

  contract(
    'changes record the operation, the author, and the row at that moment without its secrets',
    async ({ store }) => {
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
  )

  contract('pruned changes are deleted and later ones stay', async ({ store }) => {
    for (let index = 0; index < 5; index += 1) await put(store, draft())

    await store.pruneChanges(3)

    assert.deepEqual(
      (await store.changes({ after: 0, limit: 10 })).map(({ revision }) => revision),
      [4, 5],
    )
  })

  contract(
    'a follower gets all rows and then each change in order, for its kinds only',
    async ({ t, store }) => {
      await put(store, draft({ id: 'th_1' }), draft({ id: 'ot_1', kind: 'other' }))
      const seen = recorder()
      const following = await store.follow(['thing'], seen.follower)
      t.after(() => following.stop())
      assert.deepEqual([...seen.rows.keys()], ['th_1'])
      assert.deepEqual(seen.revisions, [2])

      await put(store, draft({ id: 'th_2', secrets: { token: 'secret' } }))
      await put(store, draft({ id: 'ot_2', kind: 'other' }))
      await write(store, (tx) => tx.update(draft({ id: 'th_1', data: { description: 'new' } })))
      await write(store, (tx) => tx.remove('thing', ACCOUNT, 'th_2'))
      await put(store, draft({ id: 'th_3', secrets: { token: 'secret' } }))
      await eventually(() => seen.rows.has('th_3'))

      assert.deepEqual([...seen.rows.keys()].sort(), ['th_1', 'th_3'])
      assert.deepEqual(seen.rows.get('th_1')?.data, { description: 'new' })
      assert.deepEqual(seen.rows.get('th_3')?.secrets, { token: 'secret' })
      assert.deepEqual(
        seen.revisions,
        [...seen.revisions].sort((a, b) => a - b),
      )
    },
  )

  contract('a process that catches up has what another has committed', async ({ database, store }) => {
    const other = await database.open()
    const seen = recorder()
    await store.follow(['thing'], seen.follower)
    for (const id of ['th_1', 'th_2', 'th_3']) {
      await put(other, draft({ id }))
      await store.catchUp()
      assert.ok(seen.rows.has(id))
    }
  })

  contract('a stopped follower gets no more changes', async ({ store }) => {
    const stopped = recorder()
    const other = recorder()
    const following = await store.follow(['thing'], stopped.follower)
    await store.follow(['thing'], other.follower)

    following.stop()
    await put(store, draft({ id: 'th_1' }))
    await eventually(() => other.rows.has('th_1'))

    assert.equal(stopped.rows.size, 0)
  })

  contract('a follower that throws still gets the next change, and so do the others', async ({ store }) => {
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
  })

  contract('followers on two stores miss nothing while both write', async ({ database, store }) => {
    const second = await database.open()
    const random = createRandom()
    const seen = [recorder(), recorder()]
    await store.follow(['thing'], seen[0]!.follower)
    await second.follow(['thing'], seen[1]!.follower)
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
    for (const each of seen) {
      await eventually(() => each.rows.has('th_last'))
      assert.deepEqual(sorted(each.rows.values()), expected, `seed ${random.seed}`)
      assert.deepEqual(
        each.revisions,
        [...each.revisions].sort((a, b) => a - b),
      )
    }
  })

  contract('a follower that is too far behind is reset', async ({ database, store }) => {
    const seen = recorder()
    await store.follow(['thing'], seen.follower)
    await put(store, draft({ id: 'th_1' }))
    await eventually(() => seen.rows.has('th_1'))

    // The state after a long disconnection: rows changed, and their changes pruned.
    await database.execute("DELETE FROM resources WHERE id = 'th_1'")
    await database.execute('UPDATE head SET revision = 100, pruned = 100')
    await put(store, draft({ id: 'th_2' }))
    await eventually(() => seen.rows.has('th_2'))

    assert.deepEqual([...seen.rows.keys()], ['th_2'])
    assert.equal(seen.resets(), 2)
  })

  contract('a follower gets all of many rows', async ({ store }) => {
    const ids = Array.from({ length: 1_203 }, () => newId('th'))
    for (let start = 0; start < ids.length; start += 401) {
      await put(store, ...ids.slice(start, start + 401).map((id) => draft({ id })))
    }

    const seen = recorder()
    await store.follow(['thing', 'other'], seen.follower)

    assert.deepEqual([...seen.rows.keys()].sort(), [...ids].sort())
    assert.deepEqual(seen.revisions, [1_203])
  })

  contract('audit records are numbered, chained and listed newest first by account', async ({ store }) => {
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
  })

  contract(
    'an audit record that is edited, moved, added or removed is detected',
    async ({ database, store }) => {
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
  )

  contract('two stores continue one audit chain', async ({ database, store }) => {
    const second = await database.open()
    for (let index = 0; index < 5; index += 1) await Promise.all([put(store, draft()), put(second, draft())])

    assert.equal((await store.auditLog(ACCOUNT, { limit: 100 })).length, 10)
    assert.equal(await store.verifyAudit(ACCOUNT), undefined)
  })

  contract(
    'a lease has one holder, and its fence grows with each acquisition',
    async ({ database, store }) => {
      const second = await database.open()

      const first = await store.lease('job', 'node-1', 60_000)
      const rejected = await second.lease('job', 'node-2', 60_000)
      const renewed = await first?.renew()
      await first?.release()
      const next = await second.lease('job', 'node-2', 60_000)

      assert.equal(first?.fence, 1)
      assert.equal(rejected, undefined)
      assert.equal(renewed, true)
      assert.equal(next?.fence, 2)
      assert.equal(await first?.renew(), false)
      await first?.release()
      assert.equal(await next?.renew(), true, 'a late release must not release the lease of the next holder')
    },
  )

  contract('an expired lease goes to another holder, and the stale holder is rejected', async ({ store }) => {
    const stale = await store.lease('job', 'node-1', 40)
    assert.ok(stale)

    let next = await store.lease('job', 'node-2', 60_000)
    for (const deadline = performance.now() + 5_000; !next && performance.now() < deadline; ) {
      next = await store.lease('job', 'node-2', 60_000)
    }

    assert.ok(next)
    assert.ok(next.fence > stale.fence)
    assert.equal(await stale.renew(), false)
    const write = (lease: { name: string; fence: number }) =>
      store.write({}, async (tx) => {
        await tx.requireLease(lease)
        await tx.insert(draft({ id: 'th_late' }))
        await tx.audit(entry())
      })
    await assert.rejects(write(stale), LeaseLost)
    await write(next)
  })

  contract('leases do not depend on the wall clock of a process', async ({ database }) => {
    let now = Date.now()
    const store = await database.open({ clock: { ...systemClock, now: () => now } })
    const lease = await store.lease('job', 'node-1', 60_000)

    now += 3_600_000
    const stolen = await store.lease('job', 'node-2', 60_000)

    assert.equal(stolen, undefined)
    assert.equal(await lease?.renew(), true)
  })

  contract('settings are stored, and sealed when they are secret', async ({ database, store }) => {
    await store.putSetting('cursor', '42')
    await store.putSetting('cursor', '43')
    await store.putSetting('host_key', 'very secret', { secret: true })

    const second = await database.open()

    assert.equal(await second.setting('cursor'), '43')
    assert.equal(await second.setting('host_key'), 'very secret')
    assert.equal(await second.setting('none'), undefined)
    const stored = await database.execute("SELECT value FROM settings WHERE name = 'host_key'")
    assert.doesNotMatch(String(stored[0]?.value), /secret/)
  })

  contract('no file of the database contains a secret in plain text', async ({ t, database, store }) => {
    if (!database.directories) return t.skip('the files of this server are not accessible')
    const secrets = Array.from({ length: 20 }, () => `canary${randomBytes(18).toString('hex')}`)
    for (const [index, secret] of secrets.entries()) {
      const row = draft({ id: `th_${index}`, secrets: { token: secret } })
      await put(store, row)
      await write(store, (tx) => tx.update({ ...row, secrets: { token: secret, more: secret } }))
      await store.putSetting(`key_${index}`, secret, { secret: true })
      if (index % 2) await write(store, (tx) => tx.remove('thing', ACCOUNT, `th_${index}`))
    }
    await put(store, draft({ data: { description: 'findable text' } }))

    const leaked = new Set<string>()
    for (const bytes of filesIn(database.directories)) {
      for (const text of [...secrets, 'findable text']) if (bytes.includes(text)) leaked.add(text)
    }

    assert.deepEqual([...leaked], ['findable text'])
    assert.equal((await store.get('thing', ACCOUNT, 'th_0'))?.secrets?.token, secrets[0])
  })

  contract(
    'a sealed value that was changed, truncated or moved does not unseal, and others still do',
    async ({ database, store }) => {
      await put(
        store,
        draft({ id: 'th_1', secrets: { token: 'one' } }),
        draft({ id: 'th_2', secrets: { token: 'two' } }),
        draft({ id: 'th_3', secrets: { token: 'three' } }),
      )
      const [first, second] = await database.execute('SELECT sealed FROM resources ORDER BY id')
      const good = String(first?.sealed)
      const random = createRandom()
      const broken = [String(second?.sealed), '', 'v1', 'v1...', good.replace('v1', 'v2'), `${good}.x`]
      for (let index = 0; index < 40; index += 1) {
        broken.push(good.slice(0, random.below(good.length - 1)))
        const position = good.lastIndexOf('.') - 20 - random.below(40)
        broken.push(good.slice(0, position) + (good[position] === 'A' ? 'B' : 'A') + good.slice(position + 1))
      }

      for (const sealed of broken) {
        await database.execute(`UPDATE resources SET sealed = '${sealed}' WHERE id = 'th_1'`)
        const rows = await store.list('thing', ACCOUNT, { limit: 10 })
        assert.throws(() => rows[2]?.secrets, UnsealError, `seed ${random.seed}: ${sealed}`)
        assert.deepEqual(rows[0]?.secrets, { token: 'three' })
      }

      await database.execute(`UPDATE resources SET sealed = '${good}' WHERE id = 'th_1'`)
      assert.deepEqual((await store.get('thing', ACCOUNT, 'th_1'))?.secrets, { token: 'one' })
    },
  )

  contract(
    'a database does not open without its master key, or with another',
    async ({ database, store }) => {
      await store.close()
      const elsewhere = `${database.masterKeyFile}.elsewhere`

      await assert.rejects(database.open({ masterKeyFile: elsewhere }), (error) => {
        assert.ok(error instanceof MasterKeyError)
        assert.match(error.message, /missing.*put the file back/)
        return true
      })
      createMasterKeyFile(elsewhere)
      await assert.rejects(database.open({ masterKeyFile: elsewhere }), (error) => {
        assert.ok(error instanceof MasterKeyError)
        assert.match(error.message, /does not hold the key/)
        return true
      })

      await (await database.open()).check()
    },
  )

  contract('the master key is rotated while the store is in use', async ({ database, store }) => {
    const other = await database.open()
    const before = `${database.masterKeyFile}.before`
    copyFileSync(database.masterKeyFile, before)
    await put(
      store,
      ...Array.from({ length: 50 }, (_, n) => draft({ id: `th_${n}`, secrets: { n: String(n) } })),
    )
    await store.putSetting('host_key', 'kept', { secret: true })
    const readBefore = await other.get('thing', ACCOUNT, 'th_7')

    let writing = true
    const writer = (async () => {
      for (let n = 0; writing; n += 1) {
        const row = draft({ id: `th_${n % 50}`, secrets: { n: String(n % 50) } })
        await write(n % 2 ? store : other, (tx) => tx.update(row))
      }
    })()
    const { rewrapped } = await rotateMasterKey(store)
    writing = false
    await writer
    await put(other, draft({ id: 'th_new', secrets: { n: 'new' } }))

    assert.ok(rewrapped >= 3, 'the settings of the store at least')
    await Promise.all([store.close(), other.close()])
    await assert.rejects(database.open({ masterKeyFile: before }), MasterKeyError)
    const reopened = await database.open()
    for (let n = 0; n < 50; n += 1) {
      assert.deepEqual((await reopened.get('thing', ACCOUNT, `th_${n}`))?.secrets, { n: String(n) })
    }
    assert.deepEqual((await reopened.get('thing', ACCOUNT, 'th_new'))?.secrets, { n: 'new' })
    assert.equal(await reopened.setting('host_key'), 'kept')
    assert.equal(await reopened.verifyAudit(ACCOUNT), undefined)
    assert.deepEqual(readBefore?.secrets, { n: '7' }, 'a row read before the rotation still unseals')
  })

  contract('an interrupted rotation is finished by the next', async ({ database, store }) => {
    await put(store, draft({ id: 'th_1', secrets: { token: 'old' } }))
    addMasterKey(database.masterKeyFile)
    const next = new Keyring(database.masterKeyFile).keys.at(-1)!
    // The state after a crash right after the switch: the new key is current, and nothing is rewrapped.
    await store.inTransaction((sql) => store.vault.setCurrentKey(sql, next))
    await put(store, draft({ id: 'th_2', secrets: { token: 'new' } }))

    const other = await database.open()
    await rotateMasterKey(other)

    assert.deepEqual(new Keyring(database.masterKeyFile).keys, [next])
    const reopened = await database.open()
    assert.deepEqual((await reopened.get('thing', ACCOUNT, 'th_1'))?.secrets, { token: 'old' })
    assert.deepEqual((await reopened.get('thing', ACCOUNT, 'th_2'))?.secrets, { token: 'new' })
  })

  contract(
    'a newer schema is rejected unless it is compatible with this release',
    async ({ database, store }) => {
      await store.close()

      await database.execute('INSERT INTO schema_versions (version, compatible_from) VALUES (1000, 1000)')
      await assert.rejects(database.open(), (error) => {
        assert.ok(error instanceof NewerSchema)
        assert.match(error.message, /schema 1000.*start a newer release/)
        return true
      })
      await database.execute('UPDATE schema_versions SET compatible_from = 1 WHERE version = 1000')

      await (await database.open()).check()
    },
  )

  contract(
    'a migration killed after any statement is rolled back or continued',
    async ({ t, database, store }) => {
      await put(store, draft({ id: 'th_1', secrets: { token: 'kept' } }))
      const empty = await createDatabase(t)
      const [first, newest] = [migrations[0]!, migrations.at(-1)!]
      const last = first.statements(store.engine.dialect).length - 1
      const kills: [location: string, version: number, statement: number][] = [
        [empty.location, first.version, 0],
        [empty.location, first.version, Math.floor(last / 2)],
        [empty.location, first.version, last],
        [empty.location, newest.version, 0],
        [database.location, newest.version + 1, 0],
        [database.location, newest.version + 1, 2],
      ]

      for (const [location, atVersion, statement] of kills) {
        const script = fileURLToPath(new URL('./migration-victim.fixture.ts', import.meta.url))
        const child = spawn(process.execPath, [script, location, String(atVersion), String(statement)], {
          stdio: 'inherit',
        })
        assert.deepEqual(await once(child, 'exit'), [null, 'SIGKILL'])
      }

      await put(await empty.open(), draft({ id: 'th_1' }))
      const reopened = await database.open()
      assert.deepEqual((await reopened.get('thing', ACCOUNT, 'th_1'))?.secrets, { token: 'kept' })
      assert.equal(await reopened.revision(), 1)
    },
  )

  contract(
    'stores that start together on an empty database agree on its tables and its key',
    async ({ t }) => {
      const database = await createDatabase(t)

      const stores = await Promise.all(Array.from({ length: 4 }, () => database.open()))
      await Promise.all(stores.map((store) => put(store, draft({ secrets: { token: 'shared' } }))))

      for (const store of stores) {
        const rows = await store.list('thing', ACCOUNT, { limit: 10 })
        assert.deepEqual(
          rows.map(({ secrets }) => secrets?.token),
          ['shared', 'shared', 'shared', 'shared'],
        )
      }
    },
  )

  contract('a closed store rejects calls with a clear error and can be closed again', async ({ store }) => {
    const last = put(store, draft({ id: 'th_1' }))
    await store.close()
    await store.close()

    assert.equal((await last).length, 1, 'a write in flight is finished first')
    await assert.rejects(put(store, draft()), StoreUnavailable)
    await assert.rejects(store.get('thing', ACCOUNT, 'th_1'), StoreUnavailable)
    await assert.rejects(store.check(), StoreUnavailable)
  })
}

function* filesIn(directories: readonly string[]): Generator<Buffer> {
  for (const directory of directories) {
    for (const name of readdirSync(directory, { recursive: true, encoding: 'utf8' })) {
      const path = join(directory, name)
      try {
        if (statSync(path).isFile()) yield readFileSync(path)
      } catch (error) {
        // The server removes files meanwhile, such as logs that it recycles.
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      }
    }
  }
}
