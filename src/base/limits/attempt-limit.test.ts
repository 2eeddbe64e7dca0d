import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAttemptLimit } from './attempt-limit.ts'

function start(limits: { burst: number; perMinute: number }) {
  let now = 0
  const limit = createAttemptLimit({ ...limits, clock: { now: () => 0, monotonic: () => now } })
  return {
    limit,
    pass(milliseconds: number) {
      now += milliseconds
    },
  }
}

test('a burst is free, then attempts come back one by one', () => {
  const { limit, pass } = start({ burst: 3, perMinute: 2 })

  assert.deepEqual(
    [1, 2, 3].map(() => limit.take('a')),
    [0, 0, 0],
  )
  assert.equal(limit.take('a'), 30)
  pass(20_000)
  assert.equal(limit.take('a'), 10)
  pass(10_000)
  assert.equal(limit.take('a'), 0)
  assert.equal(limit.take('a'), 30)
  pass(3_600_000)
  assert.deepEqual(
    [1, 2, 3, 4].map(() => limit.take('a')),
    [0, 0, 0, 30],
  )
})

test('a successful attempt is refunded', () => {
  const { limit } = start({ burst: 1, perMinute: 1 })

  for (let time = 0; time < 100; time += 1) {
    assert.equal(limit.take('a'), 0)
    limit.refund('a')
  }
  limit.refund('a')
  assert.equal(limit.take('a'), 0)
  assert.equal(limit.take('a'), 60, 'a refund does not raise the burst')
})

test('a refund gives back one attempt, not all of them', () => {
  const { limit } = start({ burst: 3, perMinute: 1 })
  for (let time = 0; time < 3; time += 1) limit.take('a')

  limit.refund('a')

  assert.equal(limit.take('a'), 0)
  assert.equal(limit.take('a'), 60)
})

test('a flood of other keys does not reset a key', () => {
  const { limit } = start({ burst: 5, perMinute: 1 })
  for (let time = 0; time < 5; time += 1) limit.take('victim')

  for (let key = 0; key < 100_000; key += 1) limit.take(`flood ${key}`)

  assert.ok(limit.take('victim') > 0)
})
