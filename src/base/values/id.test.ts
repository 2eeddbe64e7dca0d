import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KsuidGenerator, KsuidSequence, ksuid, newId, prefixOf, secondOf } from './id.ts'

test('ids of one process sort in the order of their creation', () => {
  const ids = Array.from({ length: 5000 }, () => ksuid(1_800_000_000_000))

  assert.deepEqual(ids, ids.toSorted())
  assert.equal(new Set(ids).size, ids.length)
})

test('ids of a later second sort after those of an earlier one', () => {
  const earlier = ksuid(1_700_000_000_000)
  const later = ksuid(1_700_000_001_000)

  assert.ok(earlier < later)
})

test('the first four bytes are the second of creation', () => {
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  const decode = (text: string) =>
    [...text].reduce((sum, digit) => sum * 62n + BigInt(digits.indexOf(digit)), 0n)

  for (const second of [1_400_000_000, 1_800_000_000, 5_000_000_000]) {
    const ids = [0, 1, 2].map(() => decode(ksuid(second * 1000 + 999)))
    for (const id of ids) {
      assert.equal(Number(id >> 128n) + 1_400_000_000, second)
      assert.ok(id < 2n ** 160n)
    }
  }
})

test('a clock before the KSUID epoch still yields well-formed ids', () => {
  for (const now of [0, 5_000, 1_399_999_999_000]) assert.match(ksuid(now), /^[0-9A-Za-z]{27}$/)
})

test('an id is its prefix and 27 characters', () => {
  const id = newId('ak')

  assert.match(id, /^ak_[0-9A-Za-z]{27}$/)
  assert.equal(prefixOf(id), 'ak')
})

test('anything else has no prefix', () => {
  for (const text of [
    '',
    'ak',
    'ak_',
    'ak_short',
    `ak_${'a'.repeat(28)}`,
    `AK_${'a'.repeat(27)}`,
    `ak_${'ä'.repeat(27)}`,
  ])
    assert.equal(prefixOf(text), undefined, text)
})

test('two generators create different ids in the same second', () => {
  const [one, two] = [new KsuidGenerator('ev'), new KsuidGenerator('ev')]
  const now = Date.UTC(2026, 0, 2)

  const created = Array.from({ length: 1000 }, () => [one.next(now), two.next(now)]).flat()

  assert.equal(new Set(created).size, created.length)
})

test('ids for an earlier time do not disturb the order of other ids', () => {
  const ids = new KsuidGenerator('ev')
  const now = Date.UTC(2026, 0, 2)

  const others = Array.from({ length: 100 }, (_, index) => {
    ids.next(now - 1000 * (index % 3))
    return ksuid(now)
  })

  assert.deepEqual(others, others.toSorted())
})

test('the ids of a sequence are in the order of their numbers, the same each time, and carry its second', () => {
  const sequence = new KsuidSequence('airt', 1_800_000_000)

  const ids = Array.from({ length: 5000 }, (_, number) => sequence.idOf(number))

  assert.deepEqual(ids, ids.toSorted())
  assert.equal(new Set(ids).size, ids.length)
  assert.equal(sequence.idOf(7), ids[7])
  for (const id of ids.slice(0, 3)) {
    assert.equal(prefixOf(id), 'airt')
    assert.equal(secondOf(id), 1_800_000_000)
  }
  assert.notEqual(new KsuidSequence('airt', 1_800_000_000).idOf(0), ids[0])
})
