import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFreshness } from './freshness.ts'

test('configuration grows stale while the database does not answer, and is fresh again when it does', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let now = 0
  let answers = true
  const freshness = createFreshness({
    clock: { now: () => now, monotonic: () => now },
    check: () => (answers ? Promise.resolve() : Promise.reject(new Error('away'))),
  })
  await freshness.start()
  t.after(freshness.stop)
  const pass = async () => {
    now += 2000
    t.mock.timers.tick(2000)
    await new Promise(setImmediate)
    return freshness.staleness()
  }

  const seen = [await pass()]
  answers = false
  seen.push(await pass(), await pass())
  answers = true
  seen.push(await pass())

  assert.deepEqual(seen, [0, 2, 4, 0])
})
