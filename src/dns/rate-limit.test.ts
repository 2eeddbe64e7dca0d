import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collectGarbage } from '../../test/support/collect-garbage.ts'
import { networkOf, ResponseRateLimit } from './rate-limit.ts'

function createLimit(options = {}) {
  const clock = { time: 0, now: () => 0, monotonic: () => clock.time }
  return { clock, limit: new ResponseRateLimit({ perSecond: 10, burst: 5, slip: 2, ...options }, clock) }
}

const judgements = (limit: ResponseRateLimit, count: number, address = '192.0.2.1', kind = 'k') =>
  Array.from({ length: count }, () => limit.check(address, kind)).join(' ')

test('responses over the limit are dropped, and every second one is truncated', () => {
  const { limit } = createLimit()

  assert.equal(judgements(limit, 9), 'send send send send send drop truncate drop truncate')
})

test('tokens are refilled over time', () => {
  const { clock, limit } = createLimit()
  judgements(limit, 10)

  clock.time += 200

  assert.equal(judgements(limit, 3), 'send send drop')
})

test('one network shares a bucket; other networks and other kinds of responses have their own', () => {
  const { limit } = createLimit({ burst: 1 })

  const outcomes = [
    limit.check('192.0.2.1', 'a'),
    limit.check('192.0.2.200', 'a'),
    limit.check('192.0.3.1', 'a'),
    limit.check('192.0.2.1', 'b'),
    limit.check('::ffff:192.0.2.9', 'b'),
    limit.check('2001:db8:0:1200::1', 'a'),
    limit.check('2001:db8:0:12ff::1', 'a'),
    limit.check('2001:db8:0:1300::1', 'a'),
  ]

  assert.deepEqual(outcomes, ['send', 'drop', 'send', 'send', 'drop', 'send', 'drop', 'send'])
})

test('a flood from many networks does not grow memory', () => {
  const { limit } = createLimit({ burst: 1 })
  collectGarbage()
  const start = process.memoryUsage().heapUsed

  for (let n = 0; n < 200_000; n++) limit.check(`${10 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}.1`, 'x')

  collectGarbage()
  assert.ok(process.memoryUsage().heapUsed - start < 64 * 1024 * 1024)
})

test('invalid addresses count as one network, and IPv4-mapped IPv6 as IPv4', () => {
  assert.equal(networkOf('x'), networkOf('y'))
  assert.equal(networkOf('::ffff:c000:0201'), networkOf('192.0.2.1'))
})
