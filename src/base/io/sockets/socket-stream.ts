import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { detachBuffer } from '../memory/detach-buffer.ts'
import { ByteQueue } from '../streams/byte-queue.ts'
import { coalescePausedReads } from '../streams/coalesced-reads.ts'
import { resetSocket } from '../streams/reset.ts'
import { type ByteStream, type StreamSink, silentSink } from '../streams/stream.ts'

const WINDOW_BYTES = 256 * 1024
/** Chunks of this size are worth an object of their own. */
const MIN_UNPACKED_BYTES = 4096

/**
 * Adapts a socket to `ByteStream`: for upstreams dialled directly and other Node streams. `StreamDuplex` is the other
 * direction.
 */
export class SocketStream implements ByteStream {
  sink: StreamSink = silentSink
  readonly #socket: Duplex
  /** Small chunks that wait for the write in flight. Node would queue each of them as an object. */
  readonly #packedWrites = new ByteQueue()
  #pendingWrites = 0
  #isBlocked = false
  #uncredited = 0
  #paused = false
  #ended = false
  #reset = false
  #error: Error | undefined

  /** The socket must allow half-open use (`allowHalfOpen: true`) for half-close to pass. */
  constructor(socket: Duplex) {
    this.#socket = socket
    coalescePausedReads(socket)
    socket.on('data', (chunk: Buffer) => this.#onData(chunk))
    socket.on('end', () => this.sink.onEnd())
    socket.on('drain', () => this.sink.onDrain())
    socket.on('error', (error) => {
      this.#error ??= error
    })
    socket.on('close', () => {
      const isClean = socket.readableEnded && socket.writableFinished
      if (!isClean) this.#error ??= new Error('The connection was closed early.')
      this.sink.onClose(this.#error)
    })
  }

  write(chunk: Buffer): boolean {
    if (this.#ended) return true
    if (this.#pendingWrites > 0 && chunk.length < MIN_UNPACKED_BYTES) {
      this.#packedWrites.push(chunk)
      const { writableLength, writableHighWaterMark } = this.#socket
      this.#isBlocked = this.#packedWrites.length + writableLength >= writableHighWaterMark
      return !this.#isBlocked
    }
    this.#flush()
    return this.#send(Buffer.from(chunk))
  }

  end(): void {
    if (this.#ended) return
    this.#ended = true
    // Deferred, so that a reset that follows at once is still sent as a reset.
    process.nextTick(() => {
      if (this.#reset) return
      this.#flush()
      this.#socket.end()
    })
  }

  reset(error?: Error): void {
    if (this.#reset) return
    this.#error ??= error
    this.#ended = true
    this.#reset = true
    this.#packedWrites.clear()
    if (this.#socket instanceof Socket) resetSocket(this.#socket)
    else this.#socket.destroy()
  }

  consumed(bytes: number): void {
    this.#uncredited -= bytes
    if (!this.#paused || this.#uncredited > WINDOW_BYTES / 2) return
    this.#paused = false
    this.#socket.resume()
  }

  #send(bytes: Buffer): boolean {
    this.#pendingWrites++
    return this.#socket.write(bytes, this.#onWritten)
  }

  #flush(): void {
    if (this.#packedWrites.length > 0) this.#send(this.#packedWrites.take())
  }

  readonly #onWritten = (error?: Error | null): void => {
    this.#pendingWrites--
    if (error) this.#packedWrites.clear()
    else if (this.#pendingWrites === 0) this.#flush()
    if (error || !this.#isBlocked || this.#socket.writableNeedDrain || this.#packedWrites.length > 0) return
    this.#isBlocked = false
    this.sink.onDrain()
  }

  #onData(chunk: Buffer): void {
    this.#uncredited += chunk.length
    if (this.#uncredited >= WINDOW_BYTES && !this.#paused) {
      this.#paused = true
      this.#socket.pause()
    }
    this.sink.onData(chunk)
    detachBuffer(chunk)
  }
}
