import { Duplex } from 'node:stream'
import { ByteQueue } from '../../base/io/byte-queue.ts'
import { type ByteStream, type StreamSink, silentSink } from '../../base/io/stream.ts'
import type { Deadlines } from '../../base/io/timer-wheel.ts'
import { StallGuard } from './stall-guard.ts'

/**
 * A `ByteStream` as Node's own stream, for what only speaks those (TLS, node:http). Credit follows what was read. With
 * deadlines a reader that takes nothing is cut after a while; without, somebody else sees to that.
 */
export function asDuplex(stream: ByteStream, deadlines?: Deadlines): Duplex {
  /** What came while the reader was behind: a list of small pieces would cost many times their size. */
  const held = new ByteQueue()
  let behind = false
  let unread = 0
  let written = 0
  let resume: (() => void) | undefined
  const guard =
    deadlines &&
    new StallGuard(deadlines, {
      waiting: () => resume !== undefined,
      moved: () => written,
      cut: (error) => duplex.destroy(error),
    })
  const duplex: Duplex = new Duplex({
    allowHalfOpen: true,
    // A reader that keeps up is handed each piece at once, whatever the mark; one that does not is behind right away.
    readableHighWaterMark: 1024,
    read() {
      behind = held.length > 0 && !duplex.push(held.take())
      // Everything pushed so far has been taken off the queue, or the queue has room again.
      const taken = unread - held.length - duplex.readableLength
      if (taken > 0) {
        unread -= taken
        stream.consumed(taken)
      }
    },
    write(chunk: Buffer, _encoding, callback) {
      written += chunk.length
      if (stream.write(chunk)) callback()
      else {
        resume = callback
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
      unread += chunk.length
      if (behind) held.push(chunk)
      else behind = !duplex.push(Buffer.from(chunk))
    },
    onEnd() {
      if (held.length > 0) duplex.push(held.take())
      duplex.push(null)
    },
    onDrain() {
      const callback = resume
      resume = undefined
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
function onDrained(duplex: Duplex, done: () => void): void {
  if (duplex.readableEnded || duplex.destroyed) done()
  else duplex.once('end', done)
}

/** Node's stream as a `ByteStream`, the way back. */
export function asByteStream(duplex: Duplex): ByteStream {
  return new DuplexStream(duplex)
}

class DuplexStream implements ByteStream {
  sink: StreamSink = silentSink
  readonly #duplex: Duplex
  /** Bytes handed to the sink and not consumed yet. */
  #held = 0
  #closed = false
  #error: Error | undefined

  constructor(duplex: Duplex) {
    this.#duplex = duplex
    duplex.on('data', (chunk: Buffer) => {
      this.#held += chunk.length
      if (this.#held > MOST_HELD) duplex.pause()
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
    this.#held -= bytes
    if (this.#held <= MOST_HELD && this.#duplex.isPaused()) this.#duplex.resume()
  }
}

const MOST_HELD = 131_072
