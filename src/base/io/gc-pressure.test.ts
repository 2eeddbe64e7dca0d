import assert from 'node:assert/strict'
import { constants, PerformanceObserver } from 'node:perf_hooks'
import { test } from 'node:test'
import { noteExternalGarbage } from './gc-pressure.ts'

const MIB = 1024 * 1024

test('buffers that die young are freed without major collections', async () => {
  const kinds: (number | undefined)[] = []
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) kinds.push((entry as { detail?: { kind?: number } }).detail?.kind)
  })
  observer.observe({ entryTypes: ['gc'] })

  for (let count = 1; count <= 2000; count++) {
    const block = Buffer.allocUnsafeSlow(MIB)
    noteExternalGarbage(block.subarray(0, 100))
    noteExternalGarbage(block.subarray(100))
    if (count % 10 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  const remaining = process.memoryUsage().arrayBuffers
  await new Promise((resolve) => setImmediate(resolve))
  observer.disconnect()

  assert.ok(remaining < 64 * MIB, `${remaining} bytes remain`)
  const major = kinds.filter((kind) => kind === constants.NODE_PERFORMANCE_GC_MAJOR)
  // Not zero: V8 runs one or two major collections in a new process before it knows the heap size.
  assert.ok(major.length <= 3, `${major.length} major collections`)
})
