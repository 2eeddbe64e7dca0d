import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLog } from '../base/process/log.ts'
import type { PagedFollower, Row, RowChange, Store } from '../store/index.ts'
import { createIpRestrictions } from './ip-restrictions.ts'

const ACCOUNT = 'ac_1'
const ADDRESS = '192.0.2.1'

function row(kind: string, id: string, data: Row['data'] = {}): Row {
  return { kind, id, account: ACCOUNT, data } as Row
}

const policy = (id: string) => row('ip_policies', id)
const allow = (id: string, policyId: string, cidr = '192.0.2.0/24') =>
  row('ip_policy_rules', id, { ip_policy_id: policyId, cidr, action: 'allow' })
const restrict = (ip_policy_ids: unknown, enforced = true) =>
  row('ip_restrictions', 'ipx_1', { type: 'api', ip_policy_ids, enforced })

/** Restrictions that follow these rows, and the follower that receives changes. */
async function start(...rows: Row[]) {
  let follower: PagedFollower | undefined
  const store = {
    async follow(_kinds: readonly string[], next: PagedFollower) {
      follower = next
      const load = next.load()
      const byOwner = rows.filter(({ kind }) => next.ownersOf?.has(kind))
      load.putOwners?.('ip_policies', byOwner)
      load.put?.(rows.filter((row) => !byOwner.includes(row)).map(toChange))
      load.complete(1)
      return { stop() {} }
    },
  } as unknown as Store
  const restrictions = createIpRestrictions({ store, log: silentLog })
  await restrictions.start()
  return {
    admits: (address = ADDRESS) => restrictions.admits(ACCOUNT, 'api', address),
    put: (next: Row) => follower!.change([toChange(next)]),
    remove: (kind: string, id: string) => follower!.change([{ kind, id, row: undefined, revision: 2 }]),
  }
}

function toChange(next: Row): RowChange {
  return { kind: next.kind, id: next.id, row: next, revision: 1 }
}

test('an enforced restriction admits what its policies allow; one that is not enforced admits everyone', async () => {
  const rows = [policy('ipp_1'), allow('ipr_1', 'ipp_1')]
  const enforced = await start(...rows, restrict(['ipp_1']))

  assert.deepEqual([enforced.admits(), enforced.admits('203.0.113.1')], [true, false])
  assert.equal((await start(...rows, restrict(['ipp_1'], false))).admits('203.0.113.1'), true)
})

test('a restriction that names a missing policy admits no address: that policy may have denied it', async () => {
  const rows = [policy('ipp_1'), allow('ipr_1', 'ipp_1'), policy('ipp_2')]

  assert.equal((await start(...rows, restrict(['ipp_1', 'ipp_3']))).admits(), false)
  const complete = await start(...rows, restrict(['ipp_1', 'ipp_2']))
  assert.equal(complete.admits(), true)
  complete.remove('ip_policies', 'ipp_2')
  assert.equal(complete.admits(), false)
})

test('a restriction that cannot be read admits no address', async () => {
  const broken = allow('ipr_2', 'ipp_1', 'not a range')

  assert.equal(
    (await start(policy('ipp_1'), allow('ipr_1', 'ipp_1'), broken, restrict(['ipp_1']))).admits(),
    false,
  )
  assert.equal((await start(policy('ipp_1'), restrict(undefined))).admits(), false)
})

test('a rule that is added, changed or deleted counts at once', async () => {
  const { admits, put, remove } = await start(policy('ipp_1'), policy('ipp_2'), restrict(['ipp_1']))
  assert.equal(admits(), false)

  put(allow('ipr_1', 'ipp_1'))
  assert.equal(admits(), true)
  put(allow('ipr_1', 'ipp_1', '203.0.113.0/24'))
  assert.equal(admits(), false)
  put(allow('ipr_2', 'ipp_1'))
  assert.equal(admits(), true)
  remove('ip_policy_rules', 'ipr_2')
  assert.equal(admits(), false)
})

test('a restriction that ends admits everyone', async () => {
  const { admits, remove } = await start(policy('ipp_1'), restrict(['ipp_1']))
  assert.equal(admits(), false)

  remove('ip_restrictions', 'ipx_1')

  assert.equal(admits(), true)
})

test('the policy of another account counts as missing', async () => {
  const foreign = { ...policy('ipp_1'), account: 'ac_2' }

  assert.equal((await start(foreign, allow('ipr_1', 'ipp_1'), restrict(['ipp_1']))).admits(), false)
})
