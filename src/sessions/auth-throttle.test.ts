import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AuthThrottle } from './auth-throttle.ts'

function movableClock() {
  let now = 1000
  return {
    now: () => now,
    monotonic: () => now,
    pass(ms: number) {
      now += ms
    },
  }
}

test('after three failures at once a client is blocked until the whole penalty has passed', () => {
  const clock = movableClock()
  const throttle = new AuthThrottle(clock)

  throttle.recordFailure('192.0.2.1')
  throttle.recordFailure('192.0.2.1')
  assert.equal(throttle.isBlocked('192.0.2.1'), false)
  clock.pass(100)
  throttle.recordFailure('192.0.2.1')
  assert.equal(throttle.isBlocked('192.0.2.1'), true)

  clock.pass(14_800)
  assert.equal(throttle.isBlocked('192.0.2.1'), true)
  clock.pass(200)
  assert.equal(throttle.isBlocked('192.0.2.1'), false)
})

test('a later failure does not admit a blocked client early', () => {
  const clock = movableClock()
  const throttle = new AuthThrottle(clock)
  for (let n = 0; n < 3; n++) throttle.recordFailure('192.0.2.1')

  // Seven seconds are left; with the five of this failure they are fewer than block a client on their own.
  clock.pass(8000)
  throttle.recordFailure('192.0.2.1')

  assert.equal(throttle.isBlocked('192.0.2.1'), true)
  clock.pass(11_999)
  assert.equal(throttle.isBlocked('192.0.2.1'), true)
  clock.pass(1)
  assert.equal(throttle.isBlocked('192.0.2.1'), false)
})

test('failures far apart expire, and other clients are not affected', () => {
  const clock = movableClock()
  const throttle = new AuthThrottle(clock)

  for (let n = 0; n < 10; n++) {
    throttle.recordFailure('192.0.2.1')
    clock.pass(5000)
  }

  assert.equal(throttle.isBlocked('192.0.2.1'), false)
  assert.equal(throttle.isBlocked('192.0.2.2'), false)
})

test('an IPv6 network counts as one client, and a penalty never exceeds ten minutes', () => {
  const clock = movableClock()
  const throttle = new AuthThrottle(clock)

  for (let n = 1; n < 500; n++) throttle.recordFailure(`2001:db8::${n.toString(16)}`)

  assert.equal(throttle.isBlocked('2001:db8::ffff'), true)
  assert.equal(throttle.isBlocked('2001:db8:0:1::1'), false)
  clock.pass(600_000)
  assert.equal(throttle.isBlocked('2001:db8::ffff'), false)
})
