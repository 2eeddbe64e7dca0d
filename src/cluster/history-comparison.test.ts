import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLog } from '../base/process/log.ts'
import { HistoryComparison } from './history-comparison.ts'

/** A comparison, and what it finds this many seconds later. */
function createComparison() {
  let now = 0
  const clock = { now: () => now, monotonic: () => now }
  const comparison = new HistoryComparison({ clock, log: silentLog, toleranceMs: 10_000 })
  return (seconds: number, own: string, peers: Record<string, string>) => {
    now += seconds * 1000
    comparison.compare(own, Object.entries(peers))
    return comparison.splitFrom
  }
}

test('peers that differ for long use another database', () => {
  const compare = createComparison()

  assert.equal(compare(0, 'one', { a: 'one', b: 'two' }), undefined)
  assert.equal(compare(9, 'one', { a: 'one', b: 'two' }), undefined)
  assert.equal(compare(1, 'one', { a: 'one', b: 'two' }), 'b')
  assert.equal(compare(1, 'one', { a: 'one', b: 'one' }), undefined)
})

test('peers that have not looked yet, have no database or are gone do not count', () => {
  const compare = createComparison()

  compare(0, 'one', { a: 'two' })
  assert.equal(compare(9, 'two', { a: 'three' }), undefined, 'both have moved on')
  assert.equal(compare(9, 'three', { a: 'three' }), undefined)
  compare(1, 'three', { a: 'four' })
  assert.equal(compare(9, 'three', { a: '' }), undefined)
  assert.equal(compare(9, '', { a: 'four' }), undefined)
  compare(1, 'three', { a: 'four' })
  compare(9, 'three', {})
  assert.equal(compare(9, 'three', { a: 'four' }), undefined)
})
