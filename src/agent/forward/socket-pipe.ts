import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { ByteQueue } from '../../base/io/byte-queue.ts'
import { CoalescingWriter } from '../../base/io/coalescing-writer.ts'
import type { FlushScheduler } from '../../base/io/flush-scheduler.ts'
import { noteExternalGarbage } from '../../base/io/gc-pressure.ts'
import { resetSocket } from '../../base/io/reset.ts'
import { StallGuard } from '../../base/io/stall-guard.ts'
import type { ByteStream, StreamSink } from '../../base/io/stream.ts'
import type { TimerWheel } from '../../base/io/timer-wheel.ts'

/**
 * Joins a proxied stream and the socket of its upstream: propagates half-close and back-pressure both ways, credits
 * exactly what the kernel accepted, and resets one side when the other fails. The pipe is created before the upstream
 * is connected, and receives upstream data in a read buffer that all pipes share.
 */
export class SocketPipe implements StreamSink {
  readonly #stream: ByteStream
  readonly #flushScheduler: FlushScheduler
  readonly #timers: TimerWheel
  readonly #onClosed: (error?: Error) => void
  #guard: StallGuard | undefined
  /** True while the stream accepts no more data from the upstream. */
  #backpressured = false
  /** Bytes received from the upstream, and forwarded to it. */
  #receivedBytes = 0
  #forwardedBytes = 0
  #socket: Socket | undefined
  #writer: CoalescingWriter | undefined
  /** Data received before the upstream connected; at most one window. */
  readonly #queue = new ByteQueue()
  #ended = false
  #closed = false

  /** `onClosed` is called once, when both sides are closed, with the error if there was one. */
  constructor(
    stream: ByteStream,
    flushScheduler: FlushScheduler,
    timers: TimerWheel,
    onClosed: (error?: Error) => void,
  ) {
    this.#stream = stream
    this.#flushScheduler = flushScheduler
    this.#timers = timers
    this.#onClosed = onClosed
    stream.sink = this
  }

  get waiting(): boolean {
    return this.#backpressured || (this.#writer?.pending ?? 0) > 0
  }

  get progress(): number {
    return this.#receivedBytes + this.#forwardedBytes - (this.#writer?.pending ?? 0)
  }

  abort(error: Error): void {
    this.fail(error)
  }

  /** Attaches the connected upstream and flushes the data queued for it. */
  connect(socket: Socket): void {
    if (this.#closed) {
      socket.on('error', () => {})
      socket.destroy()
      return
    }
    this.#socket = socket
    this.#writer = new CoalescingWriter(socket, this.#flushScheduler)
    this.#writer.source = this.#stream
    socket.on('error', (error) => this.fail(error))
    if (socket instanceof TLSSocket) {
      socket.on('data', (chunk: Buffer) => {
        if (!this.onUpstreamData(chunk)) socket.pause()
        noteExternalGarbage(chunk)
      })
    }
    socket.on('end', () => this.#stream.end())
    socket.on('close', () => {
      // Both directions may have ended cleanly before.
      if (!socket.readableEnded || !socket.writableFinished)
        this.fail(new Error('The upstream closed the connection.'))
    })
    const queued = this.#queue.take()
    if (queued.length > 0) this.onData(queued)
    if (this.#ended) this.#writer.end()
  }

  /** Accepts upstream data in memory that is reused as soon as this returns. Returns false to stop reading. */
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
    this.#writer.account(chunk.length)
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

  /** Credits the queued data and releases the stream, so that another sink can respond to it. */
  detach(): void {
    this.#closed = true
    this.#stream.consumed(this.#queue.take().length)
  }

  /** Resets both sides: the upstream failed or could not be reached. */
  fail(error: Error): void {
    if (this.#closed) return
    this.#closed = true
    this.#queue.clear()
    this.#guard?.stop()
    this.#stream.reset(error)
    if (this.#socket) resetSocket(this.#socket)
    this.#onClosed(error)
  }

  /** Creates the guard on first use: most streams never stall. */
  #watch(): void {
    this.#guard ??= new StallGuard(this.#timers, this)
    this.#guard.watch()
  }
}
