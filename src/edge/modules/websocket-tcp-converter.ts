import { trimOws } from '../../base/http/optional-white-space.ts'
import { closeFrame } from '../../base/http/websocket-frame.ts'
import { TimerEntry } from '../../base/io/memory/timer-wheel.ts'
import type { ByteStream, StreamSink } from '../../base/io/streams/stream.ts'
import { joinHostPort } from '../../base/values/hostport.ts'
import { prefixOf } from '../../base/values/id.ts'
import { HttpsEdge, type Settings, WebsocketTcpConverter } from '../../resources/index.ts'
import { isEdgeResponse, type Pool, type UpstreamTarget } from '../contracts/backend.ts'
import type { Exchange } from '../contracts/exchange.ts'
import { implementModule } from '../contracts/module.ts'
import type { Upstream } from '../contracts/upstream.ts'
import { edgeError } from '../errors.ts'
import { webSocketAccept } from '../websocket.ts'
import type { ModuleContext } from './context.ts'
import { binaryFrameHead, FrameReader, pongFrame } from './websocket-frames.ts'

/** Converts WebSocket connections to plain TCP towards the upstream; rejects all other requests. */
export const websocketTcpConverter = implementModule(WebsocketTcpConverter, {
  phase: 'backend',
  build(_settings: Settings<typeof WebsocketTcpConverter>, _context: ModuleContext) {
    /** The targets of the backend, by those that stand for them here: the backend knows only its own. */
    const originals = new WeakMap<UpstreamTarget, UpstreamTarget>()
    return (backend) => (exchange, failedTargets) => {
      if (!exchange.upgrading) throw edgeError('not_websocket')
      const original = backend(
        exchange,
        failedTargets.map((target) => originals.get(target) ?? target),
      )
      if (original === undefined || isEdgeResponse(original)) return original
      const { name, tunnelId } = original
      const pool = createConverterPool(original)
      const target: UpstreamTarget = { name, tunnelId, pool, open: (client) => original.open(client) }
      originals.set(target, original)
      return target
    }
  },
})

/** Opens one stream per client. The edge itself is the WebSocket endpoint. */
function createConverterPool(target: UpstreamTarget): Pool {
  return {
    connect(exchange) {
      const { connection, httpHost } = exchange
      const stream = target.open({
        clientAddress: joinHostPort(connection.remoteAddress, connection.remotePort),
        serverAddress: joinHostPort(connection.localAddress, connection.localPort),
        proto: 'tcp',
        via: prefixOf(httpHost!.id) === HttpsEdge.prefix ? 'https-edge' : 'endpoint',
        passthroughTls: false,
      })
      const converter = new ConverterConnection(exchange, stream)
      // The exchange needs its upstream before the client's first byte is forwarded.
      exchange.upstream = converter
      exchange.upgrade('Switching Protocols', formatHandshakeFields(exchange))
      return converter
    },
  }
}

/** The handshake fields that accept a WebSocket. One of the offered protocols must be selected, or browsers close. */
function formatHandshakeFields({ fields }: Exchange): string {
  const accept = webSocketAccept(fields.get('sec-websocket-key') ?? '')
  const offered = fields
    .getAll('sec-websocket-protocol')
    .flatMap((value) => value.split(','))
    .map(trimOws)
  const protocol = offered.includes('binary') ? 'binary' : offered[0]
  return `Sec-WebSocket-Accept: ${accept}\r\n${protocol ? `Sec-WebSocket-Protocol: ${protocol}\r\n` : ''}`
}

/** Status codes of a close frame (RFC 6455 section 7.4.1). */
const CloseCode = { normal: 1000, protocolError: 1002, tryAgainLater: 1013 } as const

/** Pong bytes the client has not read yet; beyond this its pings are ignored. */
const MAX_PENDING_PONG_BYTES = 16 * 1024

/** Relays between one client's WebSocket and one plain stream. */
class ConverterConnection extends TimerEntry implements Upstream, StreamSink {
  readonly reused = false
  readonly retainsChunks = false
  readonly #exchange: Exchange
  readonly #stream: ByteStream
  readonly #frames: FrameReader
  #writable = true
  #pendingPongBytes = 0
  /** The close frame has been sent, or the client has disconnected. */
  #closed = false

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

  writeBody(chunk: Buffer): boolean {
    if (this.#closed) return true
    if (this.#frames.push(chunk) !== undefined) this.#close(CloseCode.protocolError)
    return this.#writable
  }

  endBody(): void {
    if (!this.#closed) this.#stream.end()
  }

  /** The client disconnected. */
  abort(): void {
    this.#closed = true
    this.onDeadline()
  }

  consumed(bytes: number): void {
    const pongs = Math.min(this.#pendingPongBytes, bytes)
    this.#pendingPongBytes -= pongs
    if (bytes > pongs) this.#stream.consumed(bytes - pongs)
  }

  onData(chunk: Buffer): void {
    if (this.#closed) {
      this.#stream.consumed(chunk.length)
      return
    }
    this.#exchange.accountReceived(chunk.length)
    this.#exchange.respondBody(binaryFrameHead(chunk.length))
    this.#exchange.respondBody(chunk)
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
    this.#exchange.runtime.timers.clear(this)
  }

  /** The linger timeout is over: whatever the stream has not sent is dropped. */
  onDeadline(): void {
    this.#exchange.runtime.timers.clear(this)
    this.#stream.end()
    this.#stream.reset()
  }

  #sendPong(payload: Buffer): void {
    if (this.#pendingPongBytes > MAX_PENDING_PONG_BYTES) return
    const frame = pongFrame(payload)
    this.#pendingPongBytes += frame.length
    this.#exchange.accountReceived(frame.length)
    this.#exchange.respondBody(frame)
  }

  /** Sends a close frame to the client, then lets the stream flush for `limits.linger`. */
  #close(status: number): void {
    if (this.#closed) return
    this.#closed = true
    const { runtime } = this.#exchange
    this.#exchange.respondBody(closeFrame(status))
    this.#exchange.finish('')
    this.#stream.end()
    runtime.timers.set(this, runtime.limits.linger)
  }
}
