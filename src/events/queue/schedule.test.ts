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

test('attempts start seconds apart and continue for at least 72 hours', () => {
  const earliest = attemptTimes(() => 0)
  const latest = attemptTimes(() => 1)

  assert.equal(earliest.length, MAX_ATTEMPTS)
  assert.equal(earliest[1], 5_000)
  assert.ok(earliest.at(-1)! >= 72 * HOUR)
  assert.ok(latest.at(-1)! <= 96 * HOUR)
  for (const [index, time] of earliest.slice(1).entries()) assert.ok(latest[index + 1]! > time)
})

test('Retry-After delays the next attempt, up to a day', () => {
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
