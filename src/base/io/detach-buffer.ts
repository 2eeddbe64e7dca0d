import { litter, passed } from './gc-pressure.ts'

const LARGE = 16 * 1024

/**
 * Gives the memory of a piece back at once when the piece is all there is in it, as with bulk reads, which take a fresh
 * block each; otherwise it is left to the collector. The piece must not be used again.
 */
export function releasePiece(piece: Buffer): void {
  const { buffer, byteLength } = piece
  if (byteLength === buffer.byteLength && byteLength >= LARGE && buffer instanceof ArrayBuffer) {
    buffer.transfer(0)
    passed(byteLength)
  } else litter(piece)
}

/**
 * Gives the block back that a piece was cut from, though the piece is not all of it. Only for blocks that hold no other
 * piece; those Node shares among many small ones are left alone.
 */
export function releaseBlock(piece: Buffer): void {
  const { buffer } = piece
  const shared = piece.byteLength * 2 <= buffer.byteLength
  if (!shared && buffer.byteLength >= LARGE && buffer instanceof ArrayBuffer) buffer.transfer(0)
}
