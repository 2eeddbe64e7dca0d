import type { Socket } from 'node:net'
import { SocketStream } from '../../base/io/socket-stream.ts'
import { type ByteStream, type StreamSink, silentSink } from '../../base/io/stream.ts'
import { DialFailed } from '../backend.ts'

/** How long an address may take to be connected to. */
const CONNECT_TIMEOUT_MS = 10_000

/** A socket that is still being connected: tells a failed dial, after which nothing was lost, from a broken connection. */
export class DialledStream implements ByteStream, StreamSink {
  sink: StreamSink = silentSink
  /** Called when the other side is there. */
  onConnected: () => void = () => {}
  /** Called when it cannot be reached, before the sink is told. */
  onDialFailed: () => void = () => {}
  readonly #inner: SocketStream
  #connected = false

  /** `event` is what the socket says when the other side is there; `transport` is below it or the same. */
  constructor(socket: Socket, transport: Socket, event: 'connect' | 'secureConnect') {
    const timer = setTimeout(
      () => transport.destroy(new Error('The address could not be connected to in time.')),
      CONNECT_TIMEOUT_MS,
    )
    socket.once(event, () => {
      clearTimeout(timer)
      this.#connected = true
      this.onConnected()
    })
    socket.once('close', () => clearTimeout(timer))
    if (transport !== socket) transport.on('error', (error) => socket.destroy(error))
    this.#inner = new SocketStream(socket)
    this.#inner.sink = this
  }

  write(chunk: Buffer): boolean {
    return this.#inner.write(chunk)
  }

  end(): void {
    this.#inner.end()
  }

  reset(error?: Error): void {
    this.#inner.reset(error)
  }

  consumed(bytes: number): void {
    this.#inner.consumed(bytes)
  }

  onData(chunk: Buffer): void {
    this.sink.onData(chunk)
  }

  onEnd(): void {
    this.sink.onEnd()
  }

  onDrain(): void {
    this.sink.onDrain()
  }

  onClose(error?: Error): void {
    if (this.#connected) {
      this.sink.onClose(error)
      return
    }
    this.onDialFailed()
    this.sink.onClose(new DialFailed('The address was not reached.', { cause: error }))
  }
}
