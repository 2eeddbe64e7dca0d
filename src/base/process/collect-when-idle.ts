import { loadGarbageCollector, setHeapGrowth } from './garbage-collector.ts'

const CHECK_INTERVAL_MS = 5_000
/** The share of its time that the event loop of an idle process is busy at most. Heartbeats of 10,000 agents take 0.09. */
const MAX_UTILIZATION = 0.15
/** The pause grows with the heap: 0.15 s for that of a small server, half a second for this one. */
const MAX_HEAP_BYTES = 320 * 1024 * 1024
/** Traffic makes the heap grow to less than twice what a collection has left. More than this stays, with garbage between. */
const MIN_GROWTH = 3
/** Room for blocks that minor collections find; V8 leaves a tenth, and runs major collections for them (decision 269). */
const HEAP_GROWTH_PERCENT = 50

/**
 * Collects the garbage of the start as soon as the process is idle, and gives its memory back: V8 does that only after many
 * more allocations, which an idle process does not make (decision 254). Again when the process is idle after its heap has
 * grown much, as when thousands of agents have connected. Returns a function that cancels it.
 */
export function collectWhenIdle({
  collect = collectAll,
  heapBytes = () => process.memoryUsage().heapTotal,
  intervalMs = CHECK_INTERVAL_MS,
}: {
  collect?: () => void
  heapBytes?: () => number
  intervalMs?: number
} = {}): () => void {
  let last = performance.eventLoopUtilization()
  let collectedBytes = 0
  const timer = setInterval(() => {
    const current = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(current, last)
    last = current
    if (utilization > MAX_UTILIZATION) return
    const bytes = heapBytes()
    if (bytes < collectedBytes * MIN_GROWTH || bytes > MAX_HEAP_BYTES) return
    collect()
    collectedBytes = heapBytes()
  }, intervalMs)
  timer.unref()
  return () => clearInterval(timer)
}

function collectAll(): void {
  setHeapGrowth(HEAP_GROWTH_PERCENT)
  // Only this flavor shrinks the heap.
  loadGarbageCollector()?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}
