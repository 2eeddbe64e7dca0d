import assert from 'node:assert/strict'
import { test } from 'node:test'
import { detachBackingStore, detachBuffer } from './detach-buffer.ts'

test('a large chunk that spans its backing store is detached', () => {
  const chunk = Buffer.from(new ArrayBuffer(65_536))

  detachBuffer(chunk)

  assert.equal(chunk.length, 0)
})

test('a chunk that shares its memory, or is small, stays as it is', () => {
  const block = Buffer.from(new ArrayBuffer(65_536))
  const [shared, small] = [block.subarray(0, 32_768), Buffer.alloc(100)]

  detachBuffer(shared)
  detachBuffer(small)

  assert.equal(block.length, 65_536)
  assert.equal(small.length, 100)
})

test('a backing store that one chunk nearly fills is detached, a shared one is not', () => {
  const [exclusive, shared] = [Buffer.from(new ArrayBuffer(32_768)), Buffer.from(new ArrayBuffer(65_536))]

  detachBackingStore(exclusive.subarray(10, 32_000))
  detachBackingStore(shared.subarray(0, 32_768))

  assert.equal(exclusive.length, 0)
  assert.equal(shared.length, 65_536)
})
