import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Penalties } from './auth-throttle.ts'

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

test('three failures of one moment are refused until all their time has passed', () => {
  const clock = movableClock()
  const penalties = new Penalties(clock)

  penalties.failed('192.0.2.1')
  penalties.failed('192.0.2.1')
  assert.equal(penalties.refuses('192.0.2.1'), false)
  clock.pass(100)
  penalties.failed('192.0.2.1')
  assert.equal(penalties.refuses('192.0.2.1'), true)

  clock.pass(14_800)
  assert.equal(penalties.refuses('192.0.2.1'), true)
  clock.pass(200)
  assert.equal(penalties.refuses('192.0.2.1'), false)
})

test('failures far apart are forgiven, and others are not punished for them', () => {
  const clock = movableClock()
  const penalties = new Penalties(clock)

  for (let n = 0; n < 10; n++) {
    penalties.failed('192.0.2.1')
    clock.pass(5000)
  }

  assert.equal(penalties.refuses('192.0.2.1'), false)
  assert.equal(penalties.refuses('192.0.2.2'), false)
})

test('an IPv6 network counts as one source, and a penalty never lasts longer than ten minutes', () => {
  const clock = movableClock()
  const penalties = new Penalties(clock)

  for (let n = 1; n < 500; n++) penalties.failed(`2001:db8::${n.toString(16)}`)

  assert.equal(penalties.refuses('2001:db8::ffff'), true)
  assert.equal(penalties.refuses('2001:db8:0:1::1'), false)
  clock.pass(600_000)
  assert.equal(penalties.refuses('2001:db8::ffff'), false)
})
