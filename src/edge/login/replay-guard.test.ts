import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Once } from './replay-guard.ts'

function standing() {
  const time = { now: 0 }
  return { time, clock: { now: () => time.now, monotonic: () => time.now } }
}

test('something is taken once, until its time is over', () => {
  const { time, clock } = standing()
  const once = new Once(clock)

  assert.deepEqual([once.take('a', 1000), once.take('a', 1000), once.take('b', 1000)], [true, false, true])
  time.now = 999
  assert.equal(once.has('a'), true)
  time.now = 1000
  assert.deepEqual([once.has('a'), once.take('a', 1000)], [false, true])
})

test('it stays within its bound and forgets what is expired, then what is oldest', () => {
  const { time, clock } = standing()
  const once = new Once(clock, 100)
  once.take('old', 10_000)
  for (let at = 0; at < 99; at++) once.take(`short ${at}`, 10)
  time.now = 20

  once.take('new', 10_000)
  assert.deepEqual([once.size, once.has('old'), once.has('new')], [2, true, true])

  for (let at = 0; at < 10_000; at++) {
    once.take(`flood ${at}`, 10_000)
    assert.ok(once.size <= 100)
  }
  assert.deepEqual([once.has('old'), once.has('flood 9999')], [false, true])
})
