import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AGENT_AUTH_THROTTLE, AuthThrottle } from './auth-throttle.ts'

function movableClock() {
  let now = 1_000_000
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

test('a penalty begins when the client fails, not where an expired one ended', () => {
  const clock = movableClock()
  const throttle = new AuthThrottle(clock)
  throttle.recordFailure('192.0.2.1')

  clock.pass(10_000)
  for (let n = 0; n < 3; n++) throttle.recordFailure('192.0.2.1')

  assert.equal(throttle.isBlocked('192.0.2.1'), true)
})

test('a failure at the moment a block ends counts as the first', () => {
  const clock = movableClock()
  const throttle = new AuthThrottle(clock)
  for (let n = 0; n < 3; n++) throttle.recordFailure('192.0.2.1')

  clock.pass(15_000)
  throttle.recordFailure('192.0.2.1')

  assert.equal(throttle.isBlocked('192.0.2.1'), false)
})

test('agents behind one address are blocked at the thirtieth failure at once, for at most a minute', () => {
  const clock = movableClock()
  const throttle = new AuthThrottle(clock, AGENT_AUTH_THROTTLE)

  for (let n = 0; n < 29; n++) throttle.recordFailure('192.0.2.1')
  assert.equal(throttle.isBlocked('192.0.2.1'), false)
  throttle.recordFailure('192.0.2.1')
  assert.equal(throttle.isBlocked('192.0.2.1'), true)

  for (let n = 0; n < 100; n++) throttle.recordFailure('192.0.2.1')
  clock.pass(59_999)
  assert.equal(throttle.isBlocked('192.0.2.1'), true)
  clock.pass(1)
  assert.equal(throttle.isBlocked('192.0.2.1'), false)
})

const MAX_CLIENTS = 65_536
const OLDEST = '192.0.2.1'
const SECOND = '192.0.2.2'
const blockClient = (throttle: AuthThrottle, ip: string) => {
  for (let n = 0; n < 3; n++) throttle.recordFailure(ip)
}
const clientAddress = (n: number) => `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`

test('a full table forgets its oldest client for a new one, and none for a client it holds', () => {
  const throttle = new AuthThrottle(movableClock())
  for (const ip of [OLDEST, SECOND]) blockClient(throttle, ip)
  for (let n = 2; n < MAX_CLIENTS; n++) throttle.recordFailure(clientAddress(n))
  throttle.recordFailure(SECOND)
  assert.equal(throttle.isBlocked(OLDEST), true)

  throttle.recordFailure('198.51.100.1')

  assert.equal(throttle.isBlocked(OLDEST), false)
  assert.equal(throttle.isBlocked(SECOND), true)
})

test('a full table drops expired clients before a client that is blocked', () => {
  const clock = movableClock()
  const throttle = new AuthThrottle(clock)
  for (const ip of [OLDEST, SECOND]) blockClient(throttle, ip)
  for (let n = 2; n < MAX_CLIENTS; n++) throttle.recordFailure(clientAddress(n))

  clock.pass(5000)
  throttle.recordFailure('198.51.100.1')

  assert.equal(throttle.isBlocked(OLDEST), true)
  assert.equal(throttle.isBlocked(SECOND), true)
})
