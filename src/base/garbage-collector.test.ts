import assert from 'node:assert/strict'
import { constants, PerformanceObserver } from 'node:perf_hooks'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { assertPrivateMembers } from '../../test/support/private-members.ts'
import { loadGarbageCollector, setHeapGrowth } from './garbage-collector.ts'

const BLOCK_BYTES = 64 * 1024
const assertMember = assertPrivateMembers('node', 'src/base/garbage-collector.ts')

test('the heap grows by the share that was set before the next major collection', async () => {
  // V8 lets a smaller heap grow by a few MB in any case.
  const heap = Array.from({ length: 800_000 }, (_, index) => ({ index, text: String(index) }))
  const collect = loadGarbageCollector()

  for (const percent of [10, 50]) {
    setHeapGrowth(percent)
    collect?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
    const growth = await growUntilCollected()
    const member = `--heap-growing-percent=${percent} of V8, whose heap grew by ${Math.round(growth * 100)} %,`
    assertMember(member, Math.abs(growth - percent / 100) < 0.15)
  }

  assert.equal(heap.length, 800_000)
})

/** Returns the share by which external memory has grown when V8 runs a major collection. */
async function growUntilCollected(): Promise<number> {
  const { heapUsed } = process.memoryUsage()
  let isCollected = false
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries() as { detail?: { kind?: number } }[])
      isCollected ||= entry.detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR
  })
  observer.observe({ entryTypes: ['gc'] })
  const blocks: Buffer[] = []
  while (!isCollected) {
    blocks.push(Buffer.allocUnsafeSlow(BLOCK_BYTES))
    // V8 marks in small steps, while a program allocates.
    for (let step = 0; step < 4; step++) {
      Array.from({ length: 3000 }, (_, index) => ({ index }))
      await setImmediate()
    }
  }
  observer.disconnect()
  return (blocks.length * BLOCK_BYTES) / heapUsed
}
