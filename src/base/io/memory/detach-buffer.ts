import { noteExternalGarbage, noteRecycled } from './gc-pressure.ts'

const MIN_DETACH_BYTES = 16 * 1024

/**
 * Frees the memory of a chunk at once when the chunk spans its whole backing store, as bulk reads do. Otherwise the
 * garbage collector frees it: Node packs the small reads of several sockets into one (decision 156). The chunk must not
 * be used again.
 */
export function detachBuffer(chunk: Buffer): void {
  const { buffer, byteLength } = chunk
  if (byteLength === buffer.byteLength && byteLength >= MIN_DETACH_BYTES && buffer instanceof ArrayBuffer) {
    buffer.transfer(0)
    noteRecycled(byteLength)
  } else noteExternalGarbage(chunk)
}

/**
 * Frees the backing store of a chunk that does not span it. Only for backing stores without another live chunk; skips
 * those that Node's pool shares among many small buffers.
 */
export function detachBackingStore(chunk: Buffer): void {
  const { buffer } = chunk
  const shared = chunk.byteLength * 2 <= buffer.byteLength
  if (!shared && buffer.byteLength >= MIN_DETACH_BYTES && buffer instanceof ArrayBuffer) buffer.transfer(0)
}
