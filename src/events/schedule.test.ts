import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_ATTEMPTS, nextAttempt } from './schedule.ts'

const HOUR = 3_600_000

function attemptTimes(random: () => number): number[] {
  const attempts = [0]
  for (;;) {
    const next = nextAttempt(attempts.length, attempts.at(-1)!, undefined, random)
    if (next === undefined) return attempts
    attempts.push(next)
  }
}

test('attempts begin seconds apart and go on for at least 72 hours', () => {
  const soonest = attemptTimes(() => 0)
  const latest = attemptTimes(() => 1)

  assert.equal(soonest.length, MAX_ATTEMPTS)
  assert.equal(soonest[1], 5_000)
  assert.ok(soonest.at(-1)! >= 72 * HOUR)
  assert.ok(latest.at(-1)! <= 96 * HOUR)
  for (const [index, at] of soonest.slice(1).entries()) assert.ok(latest[index + 1]! > at)
})

test('a receiver that asks for time gets it, up to a day', () => {
  assert.equal(
    nextAttempt(1, 100, 60_000, () => 0),
    60_100,
  )
  assert.equal(
    nextAttempt(1, 100, 1_000, () => 0),
    5_100,
  )
  assert.equal(
    nextAttempt(1, 0, 1000 * HOUR, () => 0),
    24 * HOUR,
  )
})
