import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ksuid, prefixOf } from './id.ts'
import { SequentialIds } from './sequential-ids.ts'

test('ids are well-formed, differ and sort by time, over blocks and seconds', () => {
  const ids = new SequentialIds('ev')
  const now = Date.UTC(2026, 0, 2)

  const created = Array.from({ length: 500_000 }, (_, index) => ids.next(now + index / 100))

  assert.equal(new Set(created).size, created.length)
  assert.ok(created.every((id) => prefixOf(id) === 'ev'))
  assert.deepEqual([created[0], created[100_000], created[400_000]].sort(), [
    created[0],
    created[100_000],
    created[400_000],
  ])
})

test('two processes create different ids in the same second', () => {
  const [one, two] = [new SequentialIds('ev'), new SequentialIds('ev')]
  const now = Date.UTC(2026, 0, 2)

  const created = Array.from({ length: 1000 }, () => [one.next(now), two.next(now)]).flat()

  assert.equal(new Set(created).size, created.length)
})

test('ids for an earlier time do not disturb the order of other ids', () => {
  const ids = new SequentialIds('ev')
  const now = Date.UTC(2026, 0, 2)

  const others = Array.from({ length: 100 }, (_, index) => {
    ids.next(now - 1000 * (index % 3))
    return ksuid(now)
  })

  assert.deepEqual(others, others.toSorted())
})
