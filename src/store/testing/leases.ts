import assert from 'node:assert/strict'
import { eventually } from '../../../test/support/eventually.ts'
import { systemClock } from '../../base/values/clock.ts'
import { LeaseLost } from '../store.ts'
import { draft, entry, type StoreContract } from './fixtures.ts'

/** Leases. */
export const leaseContract: StoreContract = {
  'a lease has one holder, and its fence grows with each acquisition': async ({ database, store }) => {
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

  'an expired lease goes to another holder, and the stale holder is rejected': async ({ store }) => {
    const stale = await store.lease('job', 'node-1', 40)
    assert.ok(stale)

    const next = await eventually(() => store.lease('job', 'node-2', 60_000), 'the lease has expired')

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
  },

  'leases do not depend on the wall clock of a process': async ({ database }) => {
    let now = Date.now()
    const store = await database.open({ clock: { ...systemClock, now: () => now } })
    const lease = await store.lease('job', 'node-1', 60_000)

    now += 3_600_000
    const stolen = await store.lease('job', 'node-2', 60_000)

    assert.equal(stolen, undefined)
    assert.equal(await lease?.renew(), true)
  },
}
