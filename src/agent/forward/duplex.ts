import { Duplex } from 'node:stream'
import { ByteQueue } from '../../base/io/byte-queue.ts'
import { type ByteStream, type StreamSink, silentSink } from '../../base/io/stream.ts'
import type { Deadlines } from '../../base/io/timer-wheel.ts'
import { StallGuard } from './stall-guard.ts'

/**
 * A `ByteStream` as Node's own stream, for what only speaks those (TLS, node:http). Credit follows what was read. With
 * deadlines a reader that takes nothing is cut after a while; without, somebody else sees to that.
 */
export function asDuplex(stream: ByteStream, timers?: Deadlines): Duplex {
  /** What came while the reader was behind: a list of small pieces would cost many times their size. */
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
    // A reader that keeps up is handed each piece at once, whatever the mark; one that does not is behind right away.
    readableHighWaterMark: 1024,
    read() {
      backpressured = queue.length > 0 && !duplex.push(queue.take())
      // Everything pushed so far has been taken off the queue, or the queue has room again.
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

/** Runs once what was pushed has been read: a clean close must not cut the last bytes. */
function onDrained(duplex: Duplex, callback: () => void): void {
  if (duplex.readableEnded || duplex.destroyed) callback()
  else duplex.once('end', callback)
}

/** Node's stream as a `ByteStream`, the way back. */
export function toByteStream(duplex: Duplex): ByteStream {
  return new DuplexStream(duplex)
}

class DuplexStream implements ByteStream {
  sink: StreamSink = silentSink
  readonly #duplex: Duplex
  /** Bytes handed to the sink and not consumed yet. */
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
    // The caller may reuse its memory at once; a Duplex may hold on to it.
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
