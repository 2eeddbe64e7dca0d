import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { packReads } from './packed-reads.ts'
import { releasePiece } from './release.ts'
import { resetSocket } from './reset.ts'
import { type ByteStream, type StreamSink, silentSink } from './stream.ts'

const WINDOW = 256 * 1024

/** A socket as a `ByteStream`: for upstreams dialled directly and for whatever else already is a Node stream. */
export class SocketStream implements ByteStream {
  sink: StreamSink = silentSink
  readonly #socket: Duplex
  #unread = 0
  #paused = false
  #ended = false
  #reset = false
  #error: Error | undefined

  /** The socket must allow half-open use (`allowHalfOpen: true`) for half-close to pass. */
  constructor(socket: Duplex) {
    this.#socket = socket
    packReads(socket)
    socket.on('data', (chunk: Buffer) => this.#onData(chunk))
    socket.on('end', () => this.sink.onEnd())
    socket.on('drain', () => this.sink.onDrain())
    socket.on('error', (error) => {
      this.#error ??= error
    })
    socket.on('close', () => this.sink.onClose(this.#error))
  }

  write(chunk: Buffer): boolean {
    if (this.#ended) return true
    return this.#socket.write(Buffer.from(chunk))
  }

  end(): void {
    if (this.#ended) return
    this.#ended = true
    // In the next moment, so that a reset that follows at once is still one.
    process.nextTick(() => {
      if (!this.#reset) this.#socket.end()
    })
  }

  reset(error?: Error): void {
    if (this.#reset) return
    this.#error ??= error
    this.#ended = true
    this.#reset = true
    if (this.#socket instanceof Socket) resetSocket(this.#socket)
    else this.#socket.destroy()
  }

  consumed(bytes: number): void {
    this.#unread -= bytes
    if (!this.#paused || this.#unread > WINDOW / 2) return
    this.#paused = false
    this.#socket.resume()
  }

  #onData(chunk: Buffer): void {
    this.#unread += chunk.length
    if (this.#unread >= WINDOW && !this.#paused) {
      this.#paused = true
      this.#socket.pause()
    }
    this.sink.onData(chunk)
    releasePiece(chunk)
  }
}
