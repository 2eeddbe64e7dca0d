import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ksuid, prefixOf } from './id.ts'
import { RunningIds } from './sequential-ids.ts'

test('ids are well-formed, differ and sort by time, over blocks and seconds', () => {
  const ids = new RunningIds('ev')
  const now = Date.UTC(2026, 0, 2)

  const made = Array.from({ length: 500_000 }, (_, index) => ids.next(now + index / 100))

  assert.equal(new Set(made).size, made.length)
  assert.ok(made.every((id) => prefixOf(id) === 'ev'))
  assert.deepEqual([made[0], made[100_000], made[400_000]].sort(), [made[0], made[100_000], made[400_000]])
})

test('two processes make different ids in the same second', () => {
  const [one, two] = [new RunningIds('ev'), new RunningIds('ev')]
  const now = Date.UTC(2026, 0, 2)

  const made = Array.from({ length: 1000 }, () => [one.next(now), two.next(now)]).flat()

  assert.equal(new Set(made).size, made.length)
})

test('ids for a time that has passed do not disturb the order of others', () => {
  const ids = new RunningIds('ev')
  const now = Date.UTC(2026, 0, 2)

  const others = Array.from({ length: 100 }, (_, index) => {
    ids.next(now - 1000 * (index % 3))
    return ksuid(now)
  })

  assert.deepEqual(others, others.toSorted())
})
