import assert from 'node:assert/strict'
import { test } from 'node:test'
import { releaseBlock, releasePiece } from './detach-buffer.ts'

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

test('the block of a piece that is most of it comes back, one that is shared does not', () => {
  const [own, shared] = [Buffer.from(new ArrayBuffer(32_768)), Buffer.from(new ArrayBuffer(65_536))]

  releaseBlock(own.subarray(10, 32_000))
  releaseBlock(shared.subarray(0, 32_768))

  assert.equal(own.length, 0)
  assert.equal(shared.length, 65_536)
})
