import type { Duplex } from 'node:stream'
import { Out } from './coalescing-writer.ts'
import { releasePiece } from './detach-buffer.ts'
import type { Turn } from './flush-scheduler.ts'
import { packReads } from './packed-reads.ts'
import type { ByteStream, StreamSink } from './stream.ts'

/** What a finished pipe has carried. */
export interface PipeResult {
  /** Bytes from the socket to the stream. */
  bytesIn: number
  /** Bytes from the stream to the socket. */
  bytesOut: number
  error: Error | undefined
}

/** A socket that can be ended so that its peer sees an error instead of a clean end. */
export interface PipeEnd {
  /** The socket whose bytes are carried, a TLS socket as well as a plain one. */
  socket: Duplex
  /** Ends the connection visibly broken. */
  abort(): void
}

/**
 * Joins a socket and a stream until both directions are over. Back-pressure and half-close pass through; when one side
 * breaks, the other one is ended so that its peer can see it.
 */
export class Pipe implements StreamSink {
  bytesIn = 0
  bytesOut = 0
  readonly #end: PipeEnd
  readonly #stream: ByteStream
  readonly #writer: Out
  readonly #onClose: (result: PipeResult) => void
  #blocked = false
  #streamClosed = false
  #socketClosed = false
  #error: Error | undefined

  /** `first` are bytes already taken from the socket. The socket must allow half-open use. */
  constructor(
    end: PipeEnd,
    stream: ByteStream,
    scheduler: Turn,
    initialBytes: Buffer | undefined,
    onClose: (result: PipeResult) => void,
  ) {
    this.#end = end
    this.#stream = stream
    this.#onClose = onClose
    this.#writer = new Out(end.socket, scheduler)
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

  /** Bytes waiting in our memory for a slow peer on the socket's side. */
  get pending(): number {
    return this.#writer.pending
  }

  /** True while one side has bytes for the other that it does not take. */
  get waiting(): boolean {
    return this.#blocked || this.#writer.pending > 0
  }

  /** Ends both sides as broken. */
  abort(error: Error): void {
    this.#error ??= error
    this.#abortStream()
    this.#end.abort()
  }

  onData(chunk: Buffer): void {
    this.bytesOut += chunk.length
    this.#writer.owe(chunk.length)
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
      // The peer has nobody to talk to any more, but is still owed what we hold for it.
      this.#writer.end()
      this.#blocked = false
      this.#end.socket.resume()
    }
  }

  readonly #onSocketData = (chunk: Buffer): void => {
    if (this.#streamClosed) return
    this.bytesIn += chunk.length
    const hasRoom = this.#stream.write(chunk)
    releasePiece(chunk)
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
    // First the end, then the reset: an agent that only sees a reset may wait for ever for its reader.
    this.#stream.end()
    this.#stream.reset(this.#error)
  }

  #finish(): void {
    this.#onClose({ bytesIn: this.bytesIn, bytesOut: this.bytesOut, error: this.#error })
  }
}
