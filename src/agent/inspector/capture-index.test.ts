import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CaptureIndex } from './capture-index.ts'

test('captures stay in order and are found by id while thousands of others come and go', () => {
  const captures = Array.from({ length: 5000 }, (_, count) => ({
    id: `id ${String(count).padStart(4, '0')}`,
    slot: 0,
  }))
  const kept = captures.filter((_, index) => index % 1000 === 0)
  const index = new CaptureIndex<(typeof captures)[number]>()
  for (const capture of captures) index.add(capture)
  for (const capture of captures) if (!kept.includes(capture)) index.delete(capture)
  const newest = { id: 'newest', slot: 0 }
  index.add(newest)

  assert.deepEqual(index.oldestFirst(), [...kept, newest])
  assert.equal(index.size, kept.length + 1)
  for (const capture of [...kept, newest]) assert.equal(index.get(capture.id), capture)
  assert.equal(index.get(captures[1]!.id), undefined)
  assert.deepEqual(index.before(captures[1]!.id), kept.slice(0, 1))
  assert.deepEqual(index.before(newest.id), kept)
  assert.deepEqual(index.before(''), [])
  for (const capture of kept) index.delete(capture)
  assert.deepEqual(index.oldestFirst(), [newest])
})
