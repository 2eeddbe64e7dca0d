import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReplayGuard } from './replay-guard.ts'

function createManualClock() {
  const time = { now: 0 }
  return { time, clock: { now: () => time.now, monotonic: () => time.now } }
}

test('an id is consumed once until it expires', () => {
  const { time, clock } = createManualClock()
  const guard = new ReplayGuard(clock)

  assert.deepEqual(
    [guard.consume('a', 1000), guard.consume('a', 1000), guard.consume('b', 1000)],
    [true, false, true],
  )
  time.now = 999
  assert.equal(guard.has('a'), true)
  time.now = 1000
  assert.deepEqual([guard.has('a'), guard.consume('a', 1000)], [false, true])
})

test('the guard stays bounded and evicts expired entries first, then the oldest', () => {
  const { time, clock } = createManualClock()
  const guard = new ReplayGuard(clock, 100)
  guard.consume('old', 10_000)
  for (let n = 0; n < 99; n++) guard.consume(`short ${n}`, 10)
  time.now = 20

  guard.consume('new', 10_000)
  assert.deepEqual([guard.size, guard.has('old'), guard.has('new')], [2, true, true])

  for (let n = 0; n < 10_000; n++) {
    guard.consume(`flood ${n}`, 10_000)
    assert.ok(guard.size <= 100)
  }
  assert.deepEqual([guard.has('old'), guard.has('flood 9999')], [false, true])
})
