import { loadGarbageCollector, setHeapGrowth } from './garbage-collector.ts'

const CHECK_INTERVAL_MS = 5_000
/** The share of its time that the event loop of an idle process is busy at most. */
const MAX_UTILIZATION = 0.05
/** The pause grows with the heap: 0.15 s for that of a small server. */
const MAX_HEAP_BYTES = 256 * 1024 * 1024
/** Room for blocks that minor collections find; V8 leaves a tenth, and runs major collections for them (decision 269). */
const HEAP_GROWTH_PERCENT = 50

/**
 * Collects the garbage of the start as soon as the process is idle, and gives its memory back: V8 does that only after many
 * more allocations, which an idle process does not make (decision 254). Once; returns a function that cancels it.
 */
export function collectWhenIdle({
  collect = collectAll,
  intervalMs = CHECK_INTERVAL_MS,
}: {
  collect?: () => void
  intervalMs?: number
} = {}): () => void {
  let last = performance.eventLoopUtilization()
  const timer = setInterval(() => {
    const current = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(current, last)
    last = current
    if (utilization > MAX_UTILIZATION) return
    clearInterval(timer)
    if (process.memoryUsage().heapUsed < MAX_HEAP_BYTES) collect()
  }, intervalMs)
  timer.unref()
  return () => clearInterval(timer)
}

function collectAll(): void {
  setHeapGrowth(HEAP_GROWTH_PERCENT)
  // Only this flavor shrinks the heap.
  loadGarbageCollector()?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}
