import type { Core } from '../core.ts'
import { Exchange } from '../exchange.ts'
import { chunkedEnd, chunkStart } from '../message/chunked.ts'
import type { RequestHead } from '../message/request-head.ts'
import type { Http1Visitor } from './http1-connection.ts'

const Framing = { none: 0, length: 1, chunked: 2, untilEnd: 3, raw: 4 } as const
type Framing = (typeof Framing)[keyof typeof Framing]

/** An exchange whose visitor speaks HTTP/1. */
export class Http1Exchange extends Exchange {
  readonly #visitor: Http1Visitor
  #framing: Framing = Framing.none

  constructor(core: Core, visitor: Http1Visitor, head: RequestHead) {
    super(core, visitor.connection, head)
    this.#visitor = visitor
  }

  /** Passes on a piece of the request body; `trailers` are given with the last one. */
  sendBody(piece: Buffer, trailers: string | undefined): void {
    const { upstream } = this
    if (upstream === undefined || this.over) return
    this.took(piece.length)
    if (piece.length > 0) {
      this.bodySent = true
      if (!upstream.body(piece)) this.#visitor.holdBody()
    }
    if (trailers !== undefined) upstream.end(trailers)
  }

  writeInterim(status: number, reason: string, fields: string): void {
    if (this.over || this.head.minor === 0) return
    this.#visitor.out.text(`HTTP/1.1 ${status} ${reason}\r\n${fields}\r\n`)
  }

  resumeBody(): void {
    this.#visitor.resume()
  }

  closeAfter(): void {
    this.#visitor.closing = true
  }

  onRoom(): void {
    this.roomForVisitor()
  }

  protected writeHead(
    status: number,
    reason: string,
    fields: string,
    length: number,
    hasBody: boolean,
  ): void {
    const visitor = this.#visitor
    let framing = ''
    if (length >= 0) {
      framing = `Content-Length: ${length}\r\n`
      this.#framing = Framing.length
    } else if (hasBody) {
      if (this.head.minor === 1) {
        framing = 'Transfer-Encoding: chunked\r\n'
        this.#framing = Framing.chunked
      } else {
        this.#framing = Framing.untilEnd
        visitor.closing = true
      }
    }
    if (!visitor.requestDone) visitor.closing = true
    if (visitor.closing) framing += 'Connection: close\r\n'
    else if (this.head.minor === 0) framing += 'Connection: keep-alive\r\n'
    visitor.out.text(`HTTP/1.1 ${status} ${reason}\r\n${fields}${framing}\r\n`)
  }

  protected writeUpgrade(reason: string, fields: string): void {
    this.#framing = Framing.raw
    this.#visitor.out.text(
      `HTTP/1.1 101 ${reason}\r\n${fields}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    )
    this.#visitor.goRaw()
  }

  protected writeBody(piece: Buffer): void {
    const { out } = this.#visitor
    // An empty chunk would be the end of the body.
    if (piece.length === 0) return
    if (this.#framing === Framing.chunked) {
      out.text(chunkStart(piece.length))
      out.write(piece)
      out.text('\r\n')
    } else out.write(piece)
    this.#visitor.touch()
  }

  protected writeEnd(trailers: string): void {
    if (this.#framing === Framing.chunked) this.#visitor.out.text(chunkedEnd(trailers))
    this.#visitor.responseDone()
  }

  protected get congested(): boolean {
    return this.#visitor.out.congested
  }

  protected owe(bytes: number): void {
    const { out } = this.#visitor
    // What an upstream that was given up had sent is not the next one's.
    if (out.source !== this.upstream) out.release()
    out.source = this.upstream
    out.owe(bytes)
  }

  protected abortVisitor(): void {
    this.#visitor.reset()
  }
}
