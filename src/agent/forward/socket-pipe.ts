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
  readonly #turn: Turn
  readonly #deadlines: Deadlines
  readonly #onClosed: (error?: Error) => void
  #guard: StallGuard | undefined
  /** True while the stream takes nothing of what the upstream sends. */
  #held = false
  /** Bytes that came from the upstream, and from the stream. */
  #received = 0
  #given = 0
  #socket: Socket | undefined
  #out: Out | undefined
  /** Pieces that came before the upstream was connected; at most one window. */
  readonly #early = new ByteQueue()
  #ended = false
  #closed = false

  /** `onClosed` is called once, when both sides are over, with the error that broke them if any. */
  constructor(stream: ByteStream, turn: Turn, deadlines: Deadlines, onClosed: (error?: Error) => void) {
    this.#stream = stream
    this.#turn = turn
    this.#deadlines = deadlines
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
    this.#out = new Out(socket, this.#turn)
    this.#out.source = this.#stream
    socket.on('error', (error) => this.fail(error))
    if (socket instanceof TLSSocket) {
      socket.on('data', (chunk: Buffer) => {
        if (!this.received(chunk)) socket.pause()
        litter(chunk)
      })
    }
    socket.on('end', () => this.#stream.end())
    socket.on('close', () => {
      // After a clean end of both directions this finds nothing left to do.
      if (!socket.readableEnded || !socket.writableFinished)
        this.fail(new Error('The upstream closed the connection.'))
    })
    const early = this.#early.take()
    if (early.length > 0) this.onData(early)
    if (this.#ended) this.#out.end()
  }

  /** Bytes of the upstream, in memory that is reused as soon as this returns. False: stop reading. */
  received(chunk: Buffer): boolean {
    this.#received += chunk.length
    const room = this.#stream.write(chunk)
    if (!room) {
      this.#held = true
      this.#watch()
    }
    return room
  }

  onData(chunk: Buffer): void {
    if (this.#out === undefined) {
      this.#early.push(chunk)
      return
    }
    this.#given += chunk.length
    this.#out.owe(chunk.length)
    this.#out.write(chunk)
    if (this.#out.congested) this.#watch()
  }

  onEnd(): void {
    this.#ended = true
    this.#out?.end()
  }

  onDrain(): void {
    this.#held = false
    this.#socket?.resume()
  }

  onClose(error?: Error): void {
    if (this.#closed) return
    this.#closed = true
    this.#early.clear()
    this.#guard?.stop()
    if (this.#socket) {
      if (error) resetSocket(this.#socket)
      else {
        this.#out?.end()
        this.#socket.destroySoon()
      }
    }
    this.#onClosed(error)
  }

  /** The upstream cannot be reached and somebody else answers: gives credit for what came and lets go of the stream. */
  stepAside(): void {
    this.#closed = true
    this.#stream.consumed(this.#early.take().length)
  }

  /** Breaks both sides: the upstream failed, or could not be reached at all. */
  fail(error: Error): void {
    if (this.#closed) return
    this.#closed = true
    this.#early.clear()
    this.#guard?.stop()
    this.#stream.reset(error)
    if (this.#socket) resetSocket(this.#socket)
    this.#onClosed(error)
  }

  /** Made when it is needed first: most streams never wait. */
  #watch(): void {
    this.#guard ??= new StallGuard(this.#deadlines, {
      waiting: () => this.#held || (this.#out?.pending ?? 0) > 0,
      moved: () => this.#received + this.#given - (this.#out?.pending ?? 0),
      cut: (error) => this.fail(error),
    })
    this.#guard.watch()
  }
}
