import { createHash } from 'node:crypto'
import { joinHostPort } from '../../base/hostport.ts'
import { prefixOf } from '../../base/id.ts'
import type { ByteStream, StreamSink } from '../../base/io/stream.ts'
import { Timed } from '../../base/io/timer-wheel.ts'
import { trimOws } from '../../base/optional-white-space.ts'
import { HttpsEdge, type Settings, WebsocketTcpConverter } from '../../resources/index.ts'
import { isAnswer, type Pool, type Target } from '../backend.ts'
import { refusal } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import { defineModule } from '../module.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { ModuleContext } from './context.ts'
import { binaryFrameHead, closeFrame, FrameReader, pongFrame } from './websocket-frames.ts'

/** Turns WebSocket connections into plain TCP towards the upstream; anything else is turned away. */
export const websocketTcpConverter = defineModule(WebsocketTcpConverter, {
  phase: 'backend',
  build(_settings: Settings<typeof WebsocketTcpConverter>, _context: ModuleContext) {
    return (backend) => (exchange, attempt) => {
      if (!exchange.upgrading) throw refusal('not_websocket')
      const target = backend(exchange, attempt)
      if (target === undefined || isAnswer(target)) return target
      const { name, tunnelId } = target
      return { name, tunnelId, pool: createConverterPool(target), open: (visitor) => target.open(visitor) }
    }
  },
})

/** Every visitor gets a connection of its own, and the edge itself is the other side of the WebSocket. */
function createConverterPool(target: Target): Pool {
  return {
    connect(exchange) {
      const { connection, entry } = exchange
      const stream = target.open({
        clientAddress: joinHostPort(connection.remoteAddress, connection.remotePort),
        serverAddress: joinHostPort(connection.localAddress, connection.localPort),
        proto: 'tcp',
        via: prefixOf(entry!.id) === HttpsEdge.prefix ? 'https-edge' : 'endpoint',
        passthroughTls: false,
      })
      const converter = new ConverterConnection(exchange, stream)
      // The exchange must know its upstream before the first byte of the visitor is passed on.
      exchange.upstream = converter
      exchange.upgrade('Switching Protocols', formatHandshakeFields(exchange))
      return converter
    },
  }
}

/** RFC 6455 section 1.3. */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/** The fields that accept a WebSocket. Of the protocols a visitor offers one has to be named, or browsers give up. */
function formatHandshakeFields({ fields }: Exchange): string {
  const accept = createHash('sha1')
    .update(`${fields.get('sec-websocket-key') ?? ''}${GUID}`)
    .digest('base64')
  const offered = fields
    .getAll('sec-websocket-protocol')
    .flatMap((value) => value.split(','))
    .map(trimOws)
  const protocol = offered.includes('binary') ? 'binary' : offered[0]
  return `Sec-WebSocket-Accept: ${accept}\r\n${protocol ? `Sec-WebSocket-Protocol: ${protocol}\r\n` : ''}`
}

/** Status codes of a close frame (RFC 6455 section 7.4.1). */
const CloseCode = { normal: 1000, protocolError: 1002, tryAgainLater: 1013 } as const

/** Pongs a visitor has not read yet; beyond this its pings go unanswered. */
const MAX_PENDING_PONG_BYTES = 16 * 1024

/** One visitor's WebSocket joined with one plain stream. */
class ConverterConnection extends Timed implements Upstream, StreamSink {
  readonly reused = false
  readonly #exchange: Exchange
  readonly #stream: ByteStream
  readonly #frames: FrameReader
  #writable = true
  #pendingPongBytes = 0
  /** The visitor has been told that it is over. */
  #closeSent = false

  constructor(exchange: Exchange, stream: ByteStream) {
    super()
    this.#exchange = exchange
    this.#stream = stream
    this.#frames = new FrameReader({
      onPayload: (bytes) => {
        this.#writable = stream.write(bytes)
      },
      onPing: (payload) => this.#sendPong(payload),
      onClose: () => this.#close(CloseCode.normal),
    })
    stream.sink = this
  }

  body(chunk: Buffer): boolean {
    if (this.#closeSent) return true
    if (this.#frames.push(chunk) !== undefined) this.#close(CloseCode.protocolError)
    return this.#writable
  }

  end(): void {
    if (!this.#closeSent) this.#stream.end()
  }

  /** The visitor is gone. */
  abort(): void {
    this.#closeSent = true
    this.onDeadline()
  }

  consumed(bytes: number): void {
    const pongs = Math.min(this.#pendingPongBytes, bytes)
    this.#pendingPongBytes -= pongs
    if (bytes > pongs) this.#stream.consumed(bytes - pongs)
  }

  onData(chunk: Buffer): void {
    if (this.#closeSent) {
      this.#stream.consumed(chunk.length)
      return
    }
    this.#exchange.received(chunk.length)
    this.#exchange.data(binaryFrameHead(chunk.length))
    this.#exchange.data(chunk)
  }

  onEnd(): void {
    this.#close(CloseCode.normal)
  }

  onDrain(): void {
    this.#writable = true
    this.#exchange.resumeBody()
  }

  onClose(error?: Error): void {
    this.#close(error === undefined ? CloseCode.normal : CloseCode.tryAgainLater)
    this.#exchange.core.deadlines.clear(this)
  }

  /** What the visitor sent last has had its time to leave. */
  onDeadline(): void {
    this.#exchange.core.deadlines.clear(this)
    this.#stream.end()
    this.#stream.reset()
  }

  #sendPong(payload: Buffer): void {
    if (this.#pendingPongBytes > MAX_PENDING_PONG_BYTES) return
    const frame = pongFrame(payload)
    this.#pendingPongBytes += frame.length
    this.#exchange.received(frame.length)
    this.#exchange.data(frame)
  }

  /** Says goodbye to the visitor; the stream gets a moment to send what it was given. */
  #close(status: number): void {
    if (this.#closeSent) return
    this.#closeSent = true
    const { core } = this.#exchange
    this.#exchange.data(closeFrame(status))
    this.#exchange.finish('')
    this.#stream.end()
    core.deadlines.set(this, core.limits.linger)
  }
}
