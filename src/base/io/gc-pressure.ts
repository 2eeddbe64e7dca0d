import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** So much litter is worth a short collection; with twice as much V8 goes through its heap before, after a busy time. */
const COLLECT_THRESHOLD_BYTES = 4 * 1024 * 1024

let garbageBytes = 0
let transferredBytes = 0
let lastBlock: ArrayBufferLike | undefined
let collectYoungGeneration: (() => void) | undefined

/**
 * Notes that the block of a piece is left to the collector. Blocks that Node's TLS reads into die young, but V8 counts
 * them as memory outside its heap and looks for them by going through the whole heap, several times a second while much
 * is carried: that took more than half of the edge's time. A collection of what is young finds them as well, for a
 * hundredth of the cost.
 */
export function litter(chunk: Buffer): void {
  transferredBytes += chunk.length
  const { buffer } = chunk
  // Several pieces may have been cut from one block.
  if (buffer === lastBlock) return
  lastBlock = buffer
  garbageBytes += buffer.byteLength
  if (garbageBytes < COLLECT_THRESHOLD_BYTES) return
  // Small messages come with enough young objects that V8 looks for those, and finds the blocks, by itself.
  if (transferredBytes > garbageBytes / 2) {
    collectYoungGeneration ??= createYoungCollector()
    collectYoungGeneration()
  }
  garbageBytes = 0
  transferredBytes = 0
}

/** Notes bytes that were carried in memory that has been given back. */
export function noteRecycled(bytes: number): void {
  transferredBytes += bytes
}

function createYoungCollector(): () => void {
  setFlagsFromString('--expose-gc')
  const collect: NodeJS.GCFunction = runInNewContext('gc')
  return () => void collect({ type: 'minor' })
}
