import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Admission } from './admission.ts'
import { sourceOf } from './client-key.ts'
import { compileRules } from './ip-rules.ts'

/** Takes places for a source until there is none; how many it got. */
function takeAll(admission: Admission, ip: string): number {
  let count = 0
  while (admission.takeSource(ip) !== undefined) count++
  return count
}

test('a source gets its places and no more, and gets them back', () => {
  const admission = new Admission({ total: 10, perHolder: 2 })
  const first = admission.takeSource('192.0.2.1')
  admission.takeSource('192.0.2.1')

  const third = admission.takeSource('192.0.2.1')
  const other = admission.takeSource('192.0.2.2')
  first!()
  first!()
  const again = [admission.takeSource('192.0.2.1'), admission.takeSource('192.0.2.1')]

  assert.equal(third, undefined)
  assert.notEqual(other, undefined)
  assert.deepEqual(
    again.map((place) => place !== undefined),
    [true, false],
  )
})

for (const sources of [1, 2, 8, 50]) {
  test(`${sources} greedy sources leave a fair part free, and a newcomer gets in`, () => {
    const admission = new Admission({ total: 1020 })
    let taken = 0
    // In turn, as they would come.
    for (let any = true; any; ) {
      any = false
      for (let source = 1; source <= sources; source++) {
        if (admission.takeSource(`192.0.2.${source}`) === undefined) continue
        any = true
        taken++
      }
    }
    const fair = Math.floor(1020 / (sources + 1))

    assert.ok(1020 - taken >= fair - 1, `${taken} of 1020 are taken`)
    assert.ok(takeAll(admission, '198.51.100.1') >= Math.floor(fair / 2) - 1)
  })
}

test('a source that came first gets no more than half, also of what others give back', () => {
  const admission = new Admission({ total: 100 })
  const first = takeAll(admission, '192.0.2.1')
  const second = takeAll(admission, '192.0.2.2')

  assert.equal(first, 50)
  assert.equal(second, 25)
  assert.equal(admission.takeSource('192.0.2.1'), undefined)
  assert.notEqual(admission.takeSource('192.0.2.3'), undefined)
})

test('an address that many share takes nearly all, and others still get in', () => {
  const isShared = compileRules([{ cidr: '10.0.0.0/8', action: 'allow' }])
  const admission = new Admission({ total: 160, perHolder: 2, isShared })

  const shared = takeAll(admission, '10.1.2.3')

  assert.equal(shared, 150)
  assert.notEqual(admission.takeSource('192.0.2.1'), undefined)
})

test('accounts share places as sources do, each under its own id', () => {
  const admission = new Admission({ total: 4 })
  const taken = ['ac_1', 'ac_1', 'ac_1', 'ac_2', 'ac_2'].map((id) => admission.take(id) !== undefined)

  assert.deepEqual(taken, [true, true, false, true, false])
  assert.deepEqual([admission.has('ac_2'), admission.has('ac_3')], [true, false])
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
