import { loadGarbageCollector } from '../garbage-collector.ts'

/** Garbage that is worth a minor collection. With twice as much, V8 starts a major collection first after a busy time. */
const COLLECT_THRESHOLD_BYTES = 4 * 1024 * 1024

let garbageBytes = 0
let transferredBytes = 0
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
  // Small messages allocate enough young objects that V8 runs minor collections by itself.
  if (transferredBytes > garbageBytes / 2) {
    collectYoungGeneration ??= createYoungCollector()
    collectYoungGeneration()
  }
  garbageBytes = 0
  transferredBytes = 0
}

/** Notes bytes whose memory was freed without the garbage collector. */
export function noteRecycled(bytes: number): void {
  transferredBytes += bytes
}

function createYoungCollector(): () => void {
  const collect = loadGarbageCollector()
  return () => void collect?.({ type: 'minor' })
}
