import { Duplex } from 'node:stream'
import { ByteQueue } from '../../base/io/byte-queue.ts'
import { StallGuard } from '../../base/io/stall-guard.ts'
import { type ByteStream, type StreamSink, silentSink } from '../../base/io/stream.ts'
import type { TimerWheel } from '../../base/io/timer-wheel.ts'

/**
 * Adapts a `ByteStream` to a Node `Duplex`, for APIs that accept nothing else (TLS, node:http). Credit follows what the
 * reader consumed. With a timer wheel, a stall guard aborts a reader that makes no progress; without one, the layer
 * above has to.
 */
export function toDuplex(stream: ByteStream, timers?: TimerWheel): Duplex {
  /** Data received while the reader is behind, joined: a list of small chunks would cost many times their size. */
  const queue = new ByteQueue()
  let backpressured = false
  let unreadBytes = 0
  let writtenBytes = 0
  let writeCallback: (() => void) | undefined
  const guard =
    timers &&
    new StallGuard(timers, {
      hasPendingData: () => writeCallback !== undefined,
      progress: () => writtenBytes,
      abort: (error) => duplex.destroy(error),
    })
  const duplex: Duplex = new Duplex({
    allowHalfOpen: true,
    // A flowing reader gets every chunk at once, whatever the mark; a low mark signals back-pressure early.
    readableHighWaterMark: 1024,
    read() {
      backpressured = queue.length > 0 && !duplex.push(queue.take())
      // Node has emptied its read buffer, or has room in it again.
      const readBytes = unreadBytes - queue.length - duplex.readableLength
      if (readBytes > 0) {
        unreadBytes -= readBytes
        stream.consumed(readBytes)
      }
    },
    write(chunk: Buffer, _encoding, callback) {
      writtenBytes += chunk.length
      if (stream.write(chunk)) callback()
      else {
        writeCallback = callback
        guard?.watch()
      }
    },
    final(callback) {
      stream.end()
      callback()
    },
    destroy(error, callback) {
      guard?.stop()
      if (error) stream.reset(error)
      else if (!duplex.writableFinished || !duplex.readableEnded) stream.reset()
      callback(error)
    },
  })
  stream.sink = {
    onData(chunk) {
      unreadBytes += chunk.length
      if (backpressured) queue.push(chunk)
      else backpressured = !duplex.push(Buffer.from(chunk))
    },
    onEnd() {
      if (queue.length > 0) duplex.push(queue.take())
      duplex.push(null)
    },
    onDrain() {
      const callback = writeCallback
      writeCallback = undefined
      callback?.()
    },
    onClose(error) {
      if (error) duplex.destroy(error)
      else onDrained(duplex, () => duplex.destroy())
    },
  }
  return duplex
}

/** Runs the callback once all pushed data has been read: a clean close must not truncate the last bytes. */
function onDrained(duplex: Duplex, callback: () => void): void {
  if (duplex.readableEnded || duplex.destroyed) callback()
  else duplex.once('end', callback)
}

/** Adapts a Node `Duplex` to a `ByteStream`. */
export function toByteStream(duplex: Duplex): ByteStream {
  return new DuplexStream(duplex)
}

class DuplexStream implements ByteStream {
  sink: StreamSink = silentSink
  readonly #duplex: Duplex
  /** Bytes delivered to the sink and not consumed yet. */
  #unconsumed = 0
  #closed = false
  #error: Error | undefined

  constructor(duplex: Duplex) {
    this.#duplex = duplex
    duplex.on('data', (chunk: Buffer) => {
      this.#unconsumed += chunk.length
      if (this.#unconsumed > MAX_UNCONSUMED_BYTES) duplex.pause()
      this.sink.onData(chunk)
    })
    duplex.on('end', () => this.sink.onEnd())
    duplex.on('drain', () => this.sink.onDrain())
    duplex.on('error', (error) => {
      this.#error ??= error
    })
    duplex.on('close', () => {
      if (this.#closed) return
      this.#closed = true
      const clean = duplex.readableEnded && duplex.writableFinished
      this.sink.onClose(this.#error ?? (clean ? undefined : new Error('The stream ended early.')))
    })
  }

  write(chunk: Buffer): boolean {
    // The caller may reuse the chunk's memory at once; a Duplex may still reference it.
    return this.#duplex.write(Buffer.from(chunk))
  }

  end(): void {
    this.#duplex.end()
  }

  reset(error?: Error): void {
    this.#error ??= error
    this.#duplex.destroy(error)
  }

  consumed(bytes: number): void {
    this.#unconsumed -= bytes
    if (this.#unconsumed <= MAX_UNCONSUMED_BYTES && this.#duplex.isPaused()) this.#duplex.resume()
  }
}

const MAX_UNCONSUMED_BYTES = 131_072
