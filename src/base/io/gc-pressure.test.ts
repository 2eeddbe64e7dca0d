import assert from 'node:assert/strict'
import { constants, PerformanceObserver } from 'node:perf_hooks'
import { test } from 'node:test'
import { litter } from './gc-pressure.ts'

const MIB = 1024 * 1024

test('blocks that died young are collected without going through the whole heap', async () => {
  const kinds: (number | undefined)[] = []
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) kinds.push((entry as { detail?: { kind?: number } }).detail?.kind)
  })
  observer.observe({ entryTypes: ['gc'] })

  for (let count = 1; count <= 2000; count++) {
    const block = Buffer.allocUnsafeSlow(MIB)
    litter(block.subarray(0, 100))
    litter(block.subarray(100))
    if (count % 10 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  const left = process.memoryUsage().arrayBuffers
  await new Promise((resolve) => setImmediate(resolve))
  observer.disconnect()

  assert.ok(left < 64 * MIB, `${left} bytes are left`)
  const major = kinds.filter((kind) => kind === constants.NODE_PERFORMANCE_GC_MAJOR)
  // Not none: the heap of a young process is looked through once or twice before V8 knows its size.
  assert.ok(major.length <= 3, `the whole heap was gone through ${major.length} times`)
})
