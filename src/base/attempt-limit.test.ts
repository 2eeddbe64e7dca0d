import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAttempts } from './attempt-limit.ts'

function start(limits: { burst: number; perMinute: number }) {
  let now = 0
  const attempts = createAttempts({ ...limits, clock: { now: () => 0, monotonic: () => now } })
  return {
    attempts,
    pass(milliseconds: number) {
      now += milliseconds
    },
  }
}

test('so many attempts are free at once, and then they come back one by one', () => {
  const { attempts, pass } = start({ burst: 3, perMinute: 2 })

  assert.deepEqual(
    [1, 2, 3].map(() => attempts.take('a')),
    [0, 0, 0],
  )
  assert.equal(attempts.take('a'), 30)
  pass(20_000)
  assert.equal(attempts.take('a'), 10)
  pass(10_000)
  assert.equal(attempts.take('a'), 0)
  assert.equal(attempts.take('a'), 30)
  pass(3_600_000)
  assert.deepEqual(
    [1, 2, 3, 4].map(() => attempts.take('a')),
    [0, 0, 0, 30],
  )
})

test('an attempt that was not in vain is given back', () => {
  const { attempts } = start({ burst: 1, perMinute: 1 })

  for (let time = 0; time < 100; time += 1) {
    assert.equal(attempts.take('a'), 0)
    attempts.giveBack('a')
  }
  attempts.giveBack('a')
  assert.equal(attempts.take('a'), 0)
  assert.equal(attempts.take('a'), 60, 'more than there are cannot be given back')
})

test('a flood of other keys does not make a key forgotten', () => {
  const { attempts } = start({ burst: 5, perMinute: 1 })
  for (let time = 0; time < 5; time += 1) attempts.take('victim')

  for (let key = 0; key < 100_000; key += 1) attempts.take(`flood ${key}`)

  assert.ok(attempts.take('victim') > 0)
})
