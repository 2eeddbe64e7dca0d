import type { Duplex } from 'node:stream'
import { CoalescingWriter } from './coalescing-writer.ts'
import { detachBuffer } from './detach-buffer.ts'
import type { FlushScheduler } from './flush-scheduler.ts'
import { packReads } from './packed-reads.ts'
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
  /** The socket to forward, plain or TLS. */
  socket: Duplex
  /** Closes the connection so that the peer sees an error instead of a clean end. */
  abort(): void
}

/**
 * Forwards bytes between a socket and a stream until both directions are closed. Back-pressure and half-close propagate;
 * an error on one side aborts the other, so that its peer sees an error too.
 */
export class Pipe implements StreamSink {
  bytesIn = 0
  bytesOut = 0
  readonly #end: PipeEnd
  readonly #stream: ByteStream
  readonly #writer: CoalescingWriter
  readonly #onClose: (result: PipeResult) => void
  #blocked = false
  #streamClosed = false
  #socketClosed = false
  #error: Error | undefined

  /** `initialBytes` were already read from the socket. The socket must allow half-open use. */
  constructor(
    end: PipeEnd,
    stream: ByteStream,
    scheduler: FlushScheduler,
    initialBytes: Buffer | undefined,
    onClose: (result: PipeResult) => void,
  ) {
    this.#end = end
    this.#stream = stream
    this.#onClose = onClose
    this.#writer = new CoalescingWriter(end.socket, scheduler)
    this.#writer.source = stream
    stream.sink = this
    const { socket } = end
    packReads(socket)
    socket.on('data', this.#onSocketData)
    socket.on('end', () => stream.end())
    socket.on('error', (error) => {
      this.#error ??= error
    })
    socket.on('close', () => this.#onSocketClose())
    if (initialBytes !== undefined && initialBytes.length > 0) this.#onSocketData(initialBytes)
  }

  /** Bytes buffered for a slow peer on the socket's side. */
  get pending(): number {
    return this.#writer.pending
  }

  /** True while one side does not take the bytes of the other. */
  get waiting(): boolean {
    return this.#blocked || this.#writer.pending > 0
  }

  /** Aborts both sides. */
  abort(error: Error): void {
    this.#error ??= error
    this.#abortStream()
    this.#end.abort()
  }

  onData(chunk: Buffer): void {
    this.bytesOut += chunk.length
    this.#writer.account(chunk.length)
    this.#writer.write(chunk)
  }

  onEnd(): void {
    this.#writer.end()
  }

  onDrain(): void {
    this.#blocked = false
    this.#end.socket.resume()
  }

  onClose(error?: Error): void {
    this.#streamClosed = true
    this.#error ??= error
    if (this.#socketClosed) this.#finish()
    else if (error !== undefined) this.#end.abort()
    else {
      // The stream is closed; the socket's peer still gets what is buffered for it.
      this.#writer.end()
      this.#blocked = false
      this.#end.socket.resume()
    }
  }

  readonly #onSocketData = (chunk: Buffer): void => {
    if (this.#streamClosed) return
    this.bytesIn += chunk.length
    const hasRoom = this.#stream.write(chunk)
    detachBuffer(chunk)
    if (hasRoom) return
    this.#blocked = true
    this.#end.socket.pause()
  }

  #onSocketClose(): void {
    this.#socketClosed = true
    const { socket } = this.#end
    if (this.#streamClosed) this.#finish()
    // After a clean end of both directions the stream may still be sending; it closes by itself.
    else if (!socket.readableEnded || !socket.writableFinished) this.#abortStream()
  }

  #abortStream(): void {
    if (this.#streamClosed) return
    // End before reset: an agent that sees only a reset may wait for its reader forever.
    this.#stream.end()
    this.#stream.reset(this.#error)
  }

  #finish(): void {
    this.#onClose({ bytesIn: this.bytesIn, bytesOut: this.bytesOut, error: this.#error })
  }
}
