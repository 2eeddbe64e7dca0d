import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** So much litter is worth a short collection; with twice as much V8 goes through its heap before, after a busy time. */
const WORTH = 4 * 1024 * 1024

let left = 0
let carried = 0
let last: ArrayBufferLike | undefined
let collectYoung: (() => void) | undefined

/**
 * Notes that the block of a piece is left to the collector. Blocks that Node's TLS reads into die young, but V8 counts
 * them as memory outside its heap and looks for them by going through the whole heap, several times a second while much
 * is carried: that took more than half of the edge's time. A collection of what is young finds them as well, for a
 * hundredth of the cost.
 */
export function litter(piece: Buffer): void {
  carried += piece.length
  const { buffer } = piece
  // Several pieces may have been cut from one block.
  if (buffer === last) return
  last = buffer
  left += buffer.byteLength
  if (left < WORTH) return
  // Small messages come with enough young objects that V8 looks for those, and finds the blocks, by itself.
  if (carried > left / 2) {
    collectYoung ??= youngCollector()
    collectYoung()
  }
  left = 0
  carried = 0
}

/** Notes bytes that were carried in memory that has been given back. */
export function passed(bytes: number): void {
  carried += bytes
}

function youngCollector(): () => void {
  setFlagsFromString('--expose-gc')
  const collect: NodeJS.GCFunction = runInNewContext('gc')
  return () => void collect({ type: 'minor' })
}
