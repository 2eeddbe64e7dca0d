import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { ByteQueue } from '../../base/io/byte-queue.ts'
import { Out } from '../../base/io/coalescing-writer.ts'
import type { Turn } from '../../base/io/flush-scheduler.ts'
import { litter } from '../../base/io/gc-pressure.ts'
import { resetSocket } from '../../base/io/reset.ts'
import type { ByteStream, StreamSink } from '../../base/io/stream.ts'
import type { Deadlines } from '../../base/io/timer-wheel.ts'
import { StallGuard } from './stall-guard.ts'

/**
 * Joins a proxied stream to the socket of its upstream: half-close and back-pressure go both ways, credit is given
 * for exactly what the kernel took, and an error on either side is one on the other. It exists before the upstream is
 * connected, and takes the upstream's bytes from a buffer all pipes share.
 */
export class SocketPipe implements StreamSink {
  readonly #stream: ByteStream
  readonly #flushScheduler: Turn
  readonly #timers: Deadlines
  readonly #onClosed: (error?: Error) => void
  #guard: StallGuard | undefined
  /** True while the stream takes nothing of what the upstream sends. */
  #backpressured = false
  /** Bytes that came from the upstream, and from the stream. */
  #receivedBytes = 0
  #forwardedBytes = 0
  #socket: Socket | undefined
  #writer: Out | undefined
  /** Pieces that came before the upstream was connected; at most one window. */
  readonly #queue = new ByteQueue()
  #ended = false
  #closed = false

  /** `onClosed` is called once, when both sides are over, with the error that broke them if any. */
  constructor(
    stream: ByteStream,
    flushScheduler: Turn,
    timers: Deadlines,
    onClosed: (error?: Error) => void,
  ) {
    this.#stream = stream
    this.#flushScheduler = flushScheduler
    this.#timers = timers
    this.#onClosed = onClosed
    stream.sink = this
  }

  /** The upstream is there: what came early is written, what it sends is passed on. */
  connect(socket: Socket): void {
    if (this.#closed) {
      socket.on('error', () => {})
      socket.destroy()
      return
    }
    this.#socket = socket
    this.#writer = new Out(socket, this.#flushScheduler)
    this.#writer.source = this.#stream
    socket.on('error', (error) => this.fail(error))
    if (socket instanceof TLSSocket) {
      socket.on('data', (chunk: Buffer) => {
        if (!this.onUpstreamData(chunk)) socket.pause()
        litter(chunk)
      })
    }
    socket.on('end', () => this.#stream.end())
    socket.on('close', () => {
      // After a clean end of both directions this finds nothing left to do.
      if (!socket.readableEnded || !socket.writableFinished)
        this.fail(new Error('The upstream closed the connection.'))
    })
    const queued = this.#queue.take()
    if (queued.length > 0) this.onData(queued)
    if (this.#ended) this.#writer.end()
  }

  /** Bytes of the upstream, in memory that is reused as soon as this returns. False: stop reading. */
  onUpstreamData(chunk: Buffer): boolean {
    this.#receivedBytes += chunk.length
    const writable = this.#stream.write(chunk)
    if (!writable) {
      this.#backpressured = true
      this.#watch()
    }
    return writable
  }

  onData(chunk: Buffer): void {
    if (this.#writer === undefined) {
      this.#queue.push(chunk)
      return
    }
    this.#forwardedBytes += chunk.length
    this.#writer.owe(chunk.length)
    this.#writer.write(chunk)
    if (this.#writer.congested) this.#watch()
  }

  onEnd(): void {
    this.#ended = true
    this.#writer?.end()
  }

  onDrain(): void {
    this.#backpressured = false
    this.#socket?.resume()
  }

  onClose(error?: Error): void {
    if (this.#closed) return
    this.#closed = true
    this.#queue.clear()
    this.#guard?.stop()
    if (this.#socket) {
      if (error) resetSocket(this.#socket)
      else {
        this.#writer?.end()
        this.#socket.destroySoon()
      }
    }
    this.#onClosed(error)
  }

  /** The upstream cannot be reached and somebody else answers: gives credit for what came and lets go of the stream. */
  detach(): void {
    this.#closed = true
    this.#stream.consumed(this.#queue.take().length)
  }

  /** Breaks both sides: the upstream failed, or could not be reached at all. */
  fail(error: Error): void {
    if (this.#closed) return
    this.#closed = true
    this.#queue.clear()
    this.#guard?.stop()
    this.#stream.reset(error)
    if (this.#socket) resetSocket(this.#socket)
    this.#onClosed(error)
  }

  /** Made when it is needed first: most streams never wait. */
  #watch(): void {
    this.#guard ??= new StallGuard(this.#timers, {
      hasPendingData: () => this.#backpressured || (this.#writer?.pending ?? 0) > 0,
      progress: () => this.#receivedBytes + this.#forwardedBytes - (this.#writer?.pending ?? 0),
      abort: (error) => this.fail(error),
    })
    this.#guard.watch()
  }
}
