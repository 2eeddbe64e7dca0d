import assert from 'node:assert/strict'
import { test } from 'node:test'
import { releasePiece } from './release.ts'

test('a large piece with memory of its own gives it back', () => {
  const piece = Buffer.from(new ArrayBuffer(65_536))

  releasePiece(piece)

  assert.equal(piece.length, 0)
})

test('a piece that shares its memory, or is small, stays as it is', () => {
  const block = Buffer.from(new ArrayBuffer(65_536))
  const [shared, small] = [block.subarray(0, 32_768), Buffer.alloc(100)]

  releasePiece(shared)
  releasePiece(small)

  assert.equal(block.length, 65_536)
  assert.equal(small.length, 100)
})
