import type { Readable } from 'node:stream'
import { ByteQueue } from './byte-queue.ts'

/** Chunks of this size are worth an object of their own. */
const MIN_UNPACKED_BYTES = 4096

/**
 * Makes a paused Node stream buffer unread bytes in one block. Node queues a Buffer object per read: a peer that sends
 * single bytes (TLS records, HTTP/2 DATA frames, chunks) would take more than 100 bytes of memory for each
 * (decision 119). Nothing changes for a reader that keeps up. `onBuffered` is called with the bytes that wait for a reader
 * whenever they become more, `onEnd` when the last byte has arrived.
 */
export function coalescePausedReads(
  stream: Readable,
  onBuffered?: (bytes: number) => void,
  onEnd?: () => void,
): void {
  const queue = new ByteQueue()
  const push = stream.push

  function flush(): boolean {
    return queue.length === 0 || push.call(stream, queue.take())
  }

  stream.push = (chunk: Buffer | null): boolean => {
    if (chunk === null) onEnd?.()
    const isData = chunk !== null && chunk.length < MIN_UNPACKED_BYTES
    const isPaused = stream.readableFlowing !== true
    if (isData && isPaused) {
      queue.push(chunk)
      onBuffered?.(queue.length + stream.readableLength)
      return queue.length + stream.readableLength < stream.readableHighWaterMark
    }
    const flushed = flush()
    const hasRoom = push.call(stream, chunk) && flushed
    if (isPaused) onBuffered?.(stream.readableLength)
    return hasRoom
  }
  stream.on('resume', flush)
}
