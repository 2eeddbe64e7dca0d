import { litter, noteRecycled } from './gc-pressure.ts'

const MIN_DETACH_BYTES = 16 * 1024

/**
 * Gives the memory of a piece back at once when the piece is all there is in it, as with bulk reads, which take a fresh
 * block each; otherwise it is left to the collector. The piece must not be used again.
 */
export function releasePiece(chunk: Buffer): void {
  const { buffer, byteLength } = chunk
  if (byteLength === buffer.byteLength && byteLength >= MIN_DETACH_BYTES && buffer instanceof ArrayBuffer) {
    buffer.transfer(0)
    noteRecycled(byteLength)
  } else litter(chunk)
}

/**
 * Gives the block back that a piece was cut from, though the piece is not all of it. Only for blocks that hold no other
 * piece; those Node shares among many small ones are left alone.
 */
export function releaseBlock(chunk: Buffer): void {
  const { buffer } = chunk
  const shared = chunk.byteLength * 2 <= buffer.byteLength
  if (!shared && buffer.byteLength >= MIN_DETACH_BYTES && buffer instanceof ArrayBuffer) buffer.transfer(0)
}
