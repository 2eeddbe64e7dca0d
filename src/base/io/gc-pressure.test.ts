import { constants, PerformanceObserver } from 'node:perf_hooks'
import { test } from 'node:test'
import { assertPrivateMembers } from '../../../test/support/private-members.ts'
import { noteExternalGarbage } from './gc-pressure.ts'

const MIB = 1024 * 1024
const assertMember = assertPrivateMembers('node', 'src/base/io/gc-pressure.ts')

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

  assertMember(`gc of V8, which left ${remaining} bytes,`, remaining < 64 * MIB)
  const major = kinds.filter((kind) => kind === constants.NODE_PERFORMANCE_GC_MAJOR)
  // Not zero: V8 runs one or two major collections in a new process before it knows the heap size.
  assertMember(`gc of V8, with ${major.length} major collections,`, major.length <= 3)
})
