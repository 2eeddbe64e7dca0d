import assert from 'node:assert/strict'
import { constants, PerformanceObserver } from 'node:perf_hooks'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { eventually } from '../../../test/support/eventually.ts'
import { assertPrivateMembers } from '../../../test/support/private-members.ts'
import { collectWhenIdle } from './collect-when-idle.ts'
import { loadGarbageCollector, setHeapGrowth } from './garbage-collector.ts'

const BLOCK_BYTES = 64 * 1024
const assertMember = assertPrivateMembers('node', 'src/base/process/garbage-collector.ts')

test('the heap grows by the share that was set before the next major collection, and by half after the first idle time', async (t) => {
  // V8 lets a smaller heap grow by a few MB in any case.
  const heap = Array.from({ length: 800_000 }, (_, index) => ({ index, text: String(index) }))
  setHeapGrowth(10)
  loadGarbageCollector()?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  const growth = await growUntilCollected()

  const idleCollection = observeMajorCollections()
  t.after(collectWhenIdle({ intervalMs: 20 }))
  await eventually(() => idleCollection.count() > 0)
  idleCollection.stop()
  const growthAfterIdleTime = await growUntilCollected()

  const describe = (share: number) =>
    `--heap-growing-percent of V8, whose heap grew by ${Math.round(share * 100)} %,`
  assertMember(describe(growth), Math.abs(growth - 0.1) < 0.15)
  assertMember(describe(growthAfterIdleTime), Math.abs(growthAfterIdleTime - 0.5) < 0.15)
  assert.equal(heap.length, 800_000)
})

/** Returns the share by which external memory has grown when V8 runs a major collection. */
async function growUntilCollected(): Promise<number> {
  const { heapUsed } = process.memoryUsage()
  const collections = observeMajorCollections()
  const blocks: Buffer[] = []
  while (collections.count() === 0) {
    blocks.push(Buffer.allocUnsafeSlow(BLOCK_BYTES))
    // V8 marks in small steps, while a program allocates.
    for (let step = 0; step < 4; step++) {
      Array.from({ length: 3000 }, (_, index) => ({ index }))
      await setImmediate()
    }
  }
  collections.stop()
  return (blocks.length * BLOCK_BYTES) / heapUsed
}

function observeMajorCollections(): { count(): number; stop(): void } {
  let count = 0
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries() as { detail?: { kind?: number } }[])
      if (entry.detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR) count++
  })
  observer.observe({ entryTypes: ['gc'] })
  return { count: () => count, stop: () => observer.disconnect() }
}
