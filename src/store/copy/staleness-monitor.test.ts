import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createStalenessMonitor } from './staleness-monitor.ts'

test('staleness grows while the database is unavailable and drops to 0 when it responds', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let now = 0
  let reachable = true
  const stalenessMonitor = createStalenessMonitor({
    clock: { now: () => now, monotonic: () => now },
    check: () => (reachable ? Promise.resolve() : Promise.reject(new Error('away'))),
  })
  await stalenessMonitor.start()
  t.after(stalenessMonitor.stop)
  const advance = async () => {
    now += 2000
    t.mock.timers.tick(2000)
    await new Promise(setImmediate)
    return stalenessMonitor.staleness()
  }

  const values = [await advance()]
  reachable = false
  values.push(await advance(), await advance())
  reachable = true
  values.push(await advance())

  assert.deepEqual(values, [0, 2, 4, 0])
})
