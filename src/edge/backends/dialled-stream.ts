import type { Socket } from 'node:net'
import { SocketStream } from '../../base/io/sockets/socket-stream.ts'
import { StreamLayer } from '../../base/io/streams/stream-layer.ts'
import { DialError } from '../contracts/backend.ts'

const CONNECT_TIMEOUT_MS = 10_000

/**
 * A socket that is still connecting. It distinguishes a failed dial, after which nothing was lost, from a broken
 * connection.
 */
export class DialledStream extends StreamLayer {
  /** Called when the connection is established. */
  onConnected: () => void = () => {}
  /** Called when the dial fails, before the sink is closed. */
  onDialFailed: () => void = () => {}
  #connected = false

  /** `event` signals the established connection. `transport` is the TCP socket below TLS, or the socket itself. */
  constructor(socket: Socket, transport: Socket, event: 'connect' | 'secureConnect') {
    super(new SocketStream(socket))
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
  }

  override onClose(error?: Error): void {
    if (this.#connected) {
      this.sink.onClose(error)
      return
    }
    this.onDialFailed()
    this.sink.onClose(new DialError('The address was not reached.', { cause: error }))
  }
}
