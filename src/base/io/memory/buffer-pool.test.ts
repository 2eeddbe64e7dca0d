import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BufferPool } from './buffer-pool.ts'

const BLOCK_BYTES = 32 * 1024

function acquireThree(pool: BufferPool): [Buffer, Buffer, Buffer] {
  return [pool.acquire(), pool.acquire(), pool.acquire()]
}

test('a released block is used again', () => {
  const pool = new BufferPool(2, BLOCK_BYTES)
  const block = pool.acquire()

  pool.release(block)

  assert.equal(block.length, BLOCK_BYTES)
  assert.equal(pool.acquire(), block)
})

test('a block beyond the free ones that are kept is freed at once', () => {
  const pool = new BufferPool(2, BLOCK_BYTES)
  const blocks = acquireThree(pool)

  for (const block of blocks) pool.release(block)

  assert.deepEqual(
    blocks.map(({ length }) => length),
    [BLOCK_BYTES, BLOCK_BYTES, 0],
  )
})

for (const [maxBytes, kept] of [
  [3 * BLOCK_BYTES, 3],
  [2 * BLOCK_BYTES, 2],
  [BLOCK_BYTES + 1, 2],
  [0, 0],
  [-BLOCK_BYTES, 0],
] as const) {
  test(`trimmed to ${maxBytes} bytes, ${kept} of three free blocks stay`, () => {
    const pool = new BufferPool(Number.POSITIVE_INFINITY, BLOCK_BYTES)
    const blocks = acquireThree(pool)
    for (const block of blocks) pool.release(block)

    pool.trim(maxBytes)

    assert.equal(blocks.filter(({ length }) => length > 0).length, kept)
  })
}
