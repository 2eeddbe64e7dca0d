import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sourceOf } from '../base/source.ts'
import { SourceLimit } from './source-limit.ts'

test('a source gets its places and no more, and gets them back', () => {
  const limit = new SourceLimit(2, 10)
  const first = limit.take('192.0.2.1')
  limit.take('192.0.2.1')

  const third = limit.take('192.0.2.1')
  const other = limit.take('192.0.2.2')
  first!()
  first!()
  const again = [limit.take('192.0.2.1'), limit.take('192.0.2.1')]

  assert.equal(third, undefined)
  assert.notEqual(other, undefined)
  assert.deepEqual(
    again.map((place) => place !== undefined),
    [true, false],
  )
})

test('all sources together have a limit too', () => {
  const limit = new SourceLimit(2, 3)

  const taken = ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4'].map((ip) => limit.take(ip) !== undefined)

  assert.deepEqual(taken, [true, true, true, false])
})

const same: [one: string, other: string, expected: boolean][] = [
  ['192.0.2.1', '192.0.2.1', true],
  ['192.0.2.1', '192.0.2.2', false],
  ['::ffff:192.0.2.1', '192.0.2.1', true],
  ['2001:db8::1', '2001:db8::ffff:1', true],
  ['2001:db8:0:1::1', '2001:db8:0:2::1', false],
  ['fe80::1%eth0', 'fe80::2%eth0', true],
]

for (const [one, other, expected] of same) {
  test(`${one} and ${other} are ${expected ? 'one source' : 'two sources'}`, () => {
    assert.equal(sourceOf(one) === sourceOf(other), expected)
  })
}
