import type { Duplex } from 'node:stream'
import { detachBuffer } from '../memory/detach-buffer.ts'
import type { TimerWheel } from '../memory/timer-wheel.ts'
import { ByteQueue } from './byte-queue.ts'
import { coalescePausedReads } from './coalesced-reads.ts'
import { CoalescingWriter } from './coalescing-writer.ts'
import type { FlushScheduler } from './flush-scheduler.ts'
import { type GuardedStream, StallGuard } from './stall-guard.ts'
import type { ByteStream, StreamSink } from './stream.ts'

/** The result of a finished pipe. */
export interface PipeResult {
  /** Bytes from the socket to the stream. */
  bytesIn: number
  /** Bytes from the stream to the socket. */
  bytesOut: number
  error: Error | undefined
}

/** The socket side of a pipe. */
export interface PipeEnd {
  /** The socket to forward, plain or TLS. It must allow half-open use. */
  socket: Duplex
  /** Closes the connection so that the peer sees an error instead of a clean end. */
  abort(): void
  /**
   * True when the socket was created with net's `onread`: it reads into a buffer that it shares with others, emits no
   * 'data', and the callback passes each read to `onSocketData`.
   */
  usesOnread?: boolean
}

/**
 * Forwards bytes between a socket and a stream until both directions are closed. Back-pressure and half-close propagate;
 * an error on one side aborts the other, so that its peer sees an error too. The socket may be attached later than the
 * stream. `StreamRelay` joins two streams: it has no socket whose writes are worth coalescing (decision 151).
 */
export class Pipe implements StreamSink, GuardedStream {
  bytesIn = 0
  bytesOut = 0
  readonly #stream: ByteStream
  readonly #scheduler: FlushScheduler
  readonly #onClose: (result: PipeResult) => void
  readonly #timers: TimerWheel | undefined
  #end: PipeEnd | undefined
  #writer: CoalescingWriter | undefined
  /** Bytes that arrived before the socket; at most one window, since nothing is credited before. */
  #queue: ByteQueue | undefined
  /** Created when bytes first have to wait: most pipes never need it. */
  #guard: StallGuard | undefined
  #blocked = false
  #streamEnded = false
  #streamClosed = false
  #socketClosed = false
  #error: Error | undefined

  /**
   * With `timers`, the pipe aborts itself when one side takes nothing for five minutes; without, the caller has to watch
   * `progress`. `onClose` is called once, when both sides are closed.
   */
  constructor(
    stream: ByteStream,
    scheduler: FlushScheduler,
    onClose: (result: PipeResult) => void,
    timers?: TimerWheel,
  ) {
    this.#stream = stream
    this.#scheduler = scheduler
    this.#onClose = onClose
    this.#timers = timers
    stream.sink = this
  }

  /** Attaches the connected socket, once and not after `onClose`. `initialBytes` were already read from it. */
  attach(end: PipeEnd, initialBytes?: Buffer): void {
    const { socket } = end
    const writer = new CoalescingWriter(socket, this.#scheduler)
    writer.source = this.#stream
    this.#end = end
    this.#writer = writer
    if (end.usesOnread !== true) {
      coalescePausedReads(socket)
      socket.on('data', (chunk: Buffer) => this.#onSocketChunk(chunk))
    }
    socket.on('end', () => this.#stream.end())
    socket.on('error', (error) => {
      this.#error ??= error
    })
    socket.on('close', () => this.#onSocketClose())
    if (initialBytes !== undefined && initialBytes.length > 0) this.#onSocketChunk(initialBytes)
    if (this.#queue !== undefined) this.onData(this.#queue.take())
    if (this.#streamEnded) writer.end()
  }

  /** Releases the stream, to which no socket was attached, to another sink; credits the bytes that waited. */
  detach(): void {
    if (this.#queue !== undefined) this.#stream.consumed(this.#queue.take().length)
  }

  /** Bytes buffered for a slow peer on the socket's side. */
  get pending(): number {
    return this.#writer?.pending ?? 0
  }

  /** True while one side does not take the bytes of the other. */
  get waiting(): boolean {
    return this.#blocked || this.pending > 0
  }

  /** Bytes that have reached the other side. */
  get progress(): number {
    return this.bytesIn + this.bytesOut - this.pending
  }

  /** Aborts both sides. */
  abort(error: Error): void {
    this.#error ??= error
    if (!this.#streamClosed) this.#stream.reset(this.#error)
    this.#end?.abort()
  }

  onData(chunk: Buffer): void {
    const writer = this.#writer
    if (writer === undefined) {
      this.#queue ??= new ByteQueue()
      this.#queue.push(chunk)
      return
    }
    this.bytesOut += chunk.length
    writer.account(chunk.length)
    writer.write(chunk)
    if (this.#timers !== undefined && writer.congested) this.#watch(this.#timers)
  }

  onEnd(): void {
    this.#streamEnded = true
    this.#writer?.end()
  }

  onDrain(): void {
    this.#blocked = false
    this.#end?.socket.resume()
  }

  onClose(error?: Error): void {
    this.#streamClosed = true
    this.#error ??= error
    if (this.#end === undefined || this.#socketClosed) this.#finish()
    else if (error !== undefined) this.#end.abort()
    else {
      // The stream is closed; the socket's peer still gets what is buffered for it.
      this.#writer?.end()
      this.#blocked = false
      this.#end.socket.resume()
    }
  }

  /** Accepts bytes of the socket, whose memory is free again when this returns. Returns false to stop reading. */
  onSocketData(chunk: Buffer): boolean {
    if (this.#streamClosed) return true
    this.bytesIn += chunk.length
    if (this.#stream.write(chunk)) return true
    this.#blocked = true
    if (this.#timers !== undefined) this.#watch(this.#timers)
    return false
  }

  #onSocketChunk(chunk: Buffer): void {
    if (!this.onSocketData(chunk)) this.#end?.socket.pause()
    detachBuffer(chunk)
  }

  #onSocketClose(): void {
    this.#socketClosed = true
    const socket = this.#end?.socket
    if (this.#streamClosed) this.#finish()
    // After a clean end of both directions the stream may still be sending; it closes by itself.
    else if (!socket?.readableEnded || !socket.writableFinished) {
      this.#error ??= new Error('The connection was closed early.')
      this.#stream.reset(this.#error)
    }
  }

  #watch(timers: TimerWheel): void {
    this.#guard ??= new StallGuard(timers, this)
    this.#guard.watch()
  }

  #finish(): void {
    this.#guard?.stop()
    this.#queue?.clear()
    this.#onClose({ bytesIn: this.bytesIn, bytesOut: this.bytesOut, error: this.#error })
  }
}
