import type { Readable } from 'node:stream'
import { ByteQueue } from './byte-queue.ts'

/** Pieces of this size are worth an object of their own. */
const LARGE = 4096

/**
 * Makes a stream of Node's hold what waits for its reader in one buffer. Node keeps a list of what it received while
 * nobody reads: a peer that sends single bytes (TLS records, HTTP/2 DATA frames, chunks) would take more than 100 bytes
 * of memory for each. Nothing changes for a reader that keeps up.
 */
export function packReads(stream: Readable): void {
  const held = new ByteQueue()
  const push = stream.push

  function flush(): boolean {
    return held.length === 0 || push.call(stream, held.take())
  }

  stream.push = (piece: Buffer | null): boolean => {
    const isData = piece !== null && piece.length < LARGE
    if (isData && stream.readableFlowing !== true) {
      held.push(piece)
      return held.length + stream.readableLength < stream.readableHighWaterMark
    }
    const room = flush()
    return push.call(stream, piece) && room
  }
  stream.on('resume', flush)
}
