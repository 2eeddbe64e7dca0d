import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRateLimiter } from './rate-limit.ts'

test('a key that used up its burst stays limited when more keys are active than are remembered', () => {
  const clock = { now: () => 0, monotonic: () => 0 }
  const limiter = createRateLimiter({ perMinute: 60, burst: 3, clock })
  const limited = () => limiter.take('greedy') > 0
  while (!limited());

  for (let key = 0; key < 120_000; key++) limiter.take(`ac_${key}`)

  assert.equal(limited(), true)
})
