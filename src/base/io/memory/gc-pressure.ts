import { getHeapStatistics } from 'node:v8'
import { loadGarbageCollector } from '../../process/garbage-collector.ts'

/** Garbage that is worth a minor collection. With twice as much, V8 starts a major collection first after a busy time. */
const COLLECT_THRESHOLD_BYTES = 4 * 1024 * 1024

/** Growth of external memory that shows that V8 runs no minor collections by itself. */
const ACCUMULATION_THRESHOLD_BYTES = 8 * 1024 * 1024

let garbageBytes = 0
let transferredBytes = 0
let lowestExternalBytes = Infinity
let lastBlock: ArrayBufferLike | undefined
let collectYoungGeneration: (() => void) | undefined

/**
 * Notes that the backing store of a chunk is garbage, and starts a minor collection when enough has accumulated. The
 * buffers that Node's TLS reads into die young, but V8 counts them as external memory and runs major collections to find
 * them, several times a second during bulk transfers: two thirds of the edge's CPU time. A minor collection finds them
 * at a hundredth of the cost (decision 156, with the measurement and the risk of the flag that it needs).
 */
export function noteExternalGarbage(chunk: Buffer): void {
  transferredBytes += chunk.length
  const { buffer } = chunk
  // Several chunks may share one backing store.
  if (buffer === lastBlock) return
  lastBlock = buffer
  garbageBytes += buffer.byteLength
  if (garbageBytes < COLLECT_THRESHOLD_BYTES) return
  if (transferredBytes > garbageBytes / 2 || isAccumulating()) {
    collectYoungGeneration ??= createYoungCollector()
    collectYoungGeneration()
  }
  garbageBytes = 0
  transferredBytes = 0
}

/**
 * Whether V8 has left the garbage of small messages where it is. At high rates they allocate enough young objects that it
 * runs minor collections by itself. At low ones each may hold a block of 64 KB: Node starts a new one for what TLS decrypts
 * after every read of a plain socket (decision 256).
 */
function isAccumulating(): boolean {
  const { external_memory: current } = getHeapStatistics()
  lowestExternalBytes = Math.min(lowestExternalBytes, current)
  if (current - lowestExternalBytes < ACCUMULATION_THRESHOLD_BYTES) return false
  lowestExternalBytes = Infinity
  return true
}

/** Notes bytes whose memory was freed without the garbage collector. */
export function noteRecycled(bytes: number): void {
  transferredBytes += bytes
}

function createYoungCollector(): () => void {
  const collect = loadGarbageCollector()
  return () => void collect?.({ type: 'minor' })
}
