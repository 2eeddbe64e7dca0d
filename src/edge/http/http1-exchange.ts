import { hasResponseBody } from '../../base/http/http1-framing.ts'
import { closeFrame } from '../../base/http/websocket-frame.ts'
import type { ByteSource } from '../../base/io/streams/coalescing-writer.ts'
import type { ClientConnection } from '../contracts/connection.ts'
import { Exchange } from '../contracts/exchange.ts'
import type { EdgeRuntime } from '../contracts/runtime.ts'
import { formatChunkHeader, formatLastChunk } from '../message/chunked.ts'
import type { RequestHead } from '../message/request-head.ts'
import { FrameBoundaries } from './frame-boundaries.ts'
import type { Http1ServerConnection } from './http1-connection.ts'

/** The status of a WebSocket whose server stops (RFC 6455 section 7.4.1). */
const GOING_AWAY = 1001

const Framing = { none: 0, length: 1, chunked: 2, untilClose: 3, upgraded: 4 } as const
type Framing = (typeof Framing)[keyof typeof Framing]

/** An exchange whose client speaks HTTP/1. */
export class Http1Exchange extends Exchange {
  readonly #client: Http1ServerConnection
  #framing: Framing = Framing.none
  /** Set while the client and the upstream speak WebSocket. */
  #frames: FrameBoundaries | undefined
  #closeFrame: 'none' | 'due' | 'sent' = 'none'

  constructor(
    runtime: EdgeRuntime,
    client: Http1ServerConnection,
    connection: ClientConnection,
    head: RequestHead,
  ) {
    super(runtime, connection, head)
    this.#client = client
  }

  /** The client and the upstream speak WebSocket: bytes pass unchanged. */
  get upgraded(): boolean {
    return this.#framing === Framing.upgraded
  }

  /**
   * Tells the client of a WebSocket to go on elsewhere, after the frame that it is receiving. Its own close frame then passes
   * to the upstream, which ends the connection; what the upstream sends until then is dropped.
   */
  closeWebSocket(): void {
    if (this.#frames === undefined || this.#closeFrame === 'sent') return
    this.#closeFrame = 'due'
    if (this.#frames.isBetween) this.#sendClose()
  }

  /** Forwards a chunk of the request body; `trailers` come with the last one. */
  sendBody(chunk: Buffer, trailers: string | undefined): void {
    const { upstream } = this
    if (upstream === undefined || this.ended) return
    this.countRequestBytes(chunk.length)
    if (chunk.length > 0) {
      this.bodySent = true
      if (!upstream.writeBody(chunk)) this.#client.pauseBody()
    }
    if (trailers !== undefined) upstream.endBody(trailers)
  }

  writeInterim(status: number, reason: string, fields: string): void {
    if (this.ended || this.head.minor === 0) return
    this.#client.writer.writeText(`HTTP/1.1 ${status} ${reason}\r\n${fields}\r\n`)
  }

  resumeBody(): void {
    this.#client.resumeBody()
  }

  disableKeepAlive(): void {
    this.#client.closing = true
  }

  onDrain(): void {
    this.onClientDrain()
  }

  protected writeHead(
    status: number,
    reason: string,
    fields: string,
    length: number,
    hasBody: boolean,
  ): void {
    const client = this.#client
    let framingLines = ''
    if (length >= 0) {
      framingLines = `Content-Length: ${length}\r\n`
      this.#framing = Framing.length
    } else if (hasBody) {
      if (this.head.minor === 1) {
        framingLines = 'Transfer-Encoding: chunked\r\n'
        this.#framing = Framing.chunked
      } else {
        this.#framing = Framing.untilClose
        client.closing = true
      }
    } else if (hasResponseBody(this.head.method, status)) framingLines = 'Content-Length: 0\r\n'
    if (!client.requestDone) client.closing = true
    if (client.closing) framingLines += 'Connection: close\r\n'
    else if (this.head.minor === 0) framingLines += 'Connection: keep-alive\r\n'
    client.writer.writeText(`HTTP/1.1 ${status} ${reason}\r\n${fields}${framingLines}\r\n`)
  }

  protected writeUpgrade(reason: string, fields: string): void {
    this.#framing = Framing.upgraded
    this.#client.writer.writeText(
      `HTTP/1.1 101 ${reason}\r\n${fields}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    )
    this.#frames = new FrameBoundaries()
    this.#client.switchToUpgraded()
    if (this.runtime.draining) this.closeWebSocket()
  }

  protected touch(): void {
    this.#client.touch()
  }

  protected writeBody(chunk: Buffer): void {
    const { writer } = this.#client
    // An empty chunk would be the end of the body.
    if (chunk.length === 0) return
    if (this.#frames !== undefined) this.#writeFrames(chunk, this.#frames)
    else if (this.#framing === Framing.chunked) {
      writer.writeText(formatChunkHeader(chunk.length))
      writer.write(chunk)
      writer.writeText('\r\n')
    } else writer.write(chunk)
    this.#client.touch()
  }

  #writeFrames(chunk: Buffer, frames: FrameBoundaries): void {
    if (this.#closeFrame === 'sent') return
    const end = frames.push(chunk)
    const isLast = this.#closeFrame === 'due' && end !== -1
    this.#client.writer.write(isLast ? chunk.subarray(0, end) : chunk)
    if (isLast) this.#sendClose()
  }

  #sendClose(): void {
    this.#closeFrame = 'sent'
    this.#client.writer.write(closeFrame(GOING_AWAY))
    this.#client.limitEnd(this.runtime.limits.closedWebSocket)
  }

  protected writeEnd(trailers: string): void {
    if (this.#framing === Framing.chunked) this.#client.writer.writeText(formatLastChunk(trailers))
    this.#client.responseDone()
  }

  protected get congested(): boolean {
    return this.#client.writer.congested
  }

  protected account(bytes: number, source: ByteSource | undefined): void {
    const { writer } = this.#client
    if (this.#closeFrame === 'sent') {
      source?.consumed(bytes)
      return
    }
    // Bytes of an abandoned upstream must not be credited to the next one.
    if (writer.source !== source) writer.creditAll()
    writer.source = source
    writer.account(bytes)
  }

  protected resetClient(): void {
    this.#client.reset()
  }
}
