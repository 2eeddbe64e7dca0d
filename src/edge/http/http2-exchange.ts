import { constants, type ServerHttp2Stream } from 'node:http2'
import { Out } from '../../base/io/coalescing-writer.ts'
import { litter } from '../../base/io/gc-pressure.ts'
import { packReads } from '../../base/io/packed-reads.ts'
import { Timed } from '../../base/io/timer-wheel.ts'
import type { Connection } from '../connection.ts'
import type { Core } from '../core.ts'
import { refusal } from '../errors.ts'
import { Exchange } from '../exchange.ts'
import { requestNames } from '../message/field-names.ts'
import { FieldFacts, scanFields } from '../message/field-scan.ts'
import { toHeaders } from '../message/http2-fields.ts'
import { isHttp2Field } from '../message/http2-head.ts'
import { MAX_FIELDS, type RequestHead } from '../message/request-head.ts'

/** An exchange whose visitor speaks HTTP/2. */
export class Http2Exchange extends Exchange {
  readonly #stream: ServerHttp2Stream
  readonly #out: Out
  readonly #progress: Progress
  readonly #closeSession: () => void
  #received = 0
  #flowing = false
  #lastPending = 0
  /** Trailers of the response; set by its end. */
  #trailers = ''
  /** Trailers of the request, kept until its end. */
  #requestTrailers = ''

  constructor(
    core: Core,
    connection: Connection,
    head: RequestHead,
    stream: ServerHttp2Stream,
    closeSession: () => void,
  ) {
    super(core, connection, head)
    this.#stream = stream
    this.#closeSession = closeSession
    packReads(stream)
    this.#out = new Out(stream, core.turn)
    this.#out.onRoom = () => this.roomForVisitor()
    this.#progress = new Progress(() => this.#onDeadline())
    this.#touch()
    stream.on('wantTrailers', () => stream.sendTrailers(toHeaders(this.#trailers)))
    stream.on('trailers', (_headers, _flags, raw: unknown) => this.#onTrailers(raw))
    stream.on('close', () => {
      core.deadlines.clear(this.#progress)
      this.#out.release()
      this.leave()
    })
  }

  /** Lets the body flow once there is somebody to take it. */
  resumeBody(): void {
    if (!this.hasBody || this.upstream === undefined) return
    if (this.#flowing) {
      this.#stream.resume()
      return
    }
    this.#flowing = true
    this.#stream.on('data', (piece: Buffer) => this.#onData(piece))
    this.#stream.on('end', () => this.#onEnd())
  }

  writeInterim(status: number, _reason: string, fields: string): void {
    if (this.over || this.#stream.headersSent || this.#stream.destroyed) return
    this.#stream.additionalHeaders({ ...toHeaders(fields), ':status': status })
  }

  /** Never asked for: a request for WebSocket does not come this way. */
  protected writeUpgrade(): void {
    this.breakOff()
  }

  closeAfter(): void {
    this.#closeSession()
  }

  protected writeHead(
    status: number,
    _reason: string,
    fields: string,
    length: number,
    hasBody: boolean,
  ): void {
    if (this.#stream.destroyed) return
    const headers = toHeaders(fields)
    headers[':status'] = status
    if (length >= 0) headers['content-length'] = length
    this.#stream.respond(headers, { endStream: !hasBody, waitForTrailers: hasBody && length === -1 })
  }

  protected writeBody(piece: Buffer): void {
    this.#out.write(piece)
    this.#touch()
  }

  protected writeEnd(trailers: string): void {
    this.#trailers = trailers
    this.#out.end()
    // The rest of a request that was answered early is not wanted (RFC 9113 section 8.1).
    if (this.hasBody && !this.#stream.readableEnded) {
      this.#stream.once('finish', () => this.#stream.close(constants.NGHTTP2_NO_ERROR))
    }
  }

  protected get congested(): boolean {
    return this.#out.congested
  }

  protected owe(bytes: number): void {
    // What an upstream that was given up had sent is not the next one's.
    if (this.#out.source !== this.upstream) this.#out.release()
    this.#out.source = this.upstream
    this.#out.owe(bytes)
  }

  protected abortVisitor(): void {
    this.#stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  }

  #onData(piece: Buffer): void {
    const { length } = this.head.facts
    this.#received += piece.length
    this.#touch()
    if (this.over || this.upstream === undefined) return
    if (length !== -1 && this.#received > length) {
      this.breakOff()
      return
    }
    this.took(piece.length)
    this.bodySent = true
    if (!this.upstream.body(piece)) this.#stream.pause()
    litter(piece)
  }

  #onEnd(): void {
    if (this.over || this.upstream === undefined) return
    const { length } = this.head.facts
    // A body shorter than declared, or cut off by a reset, is no body.
    if (this.#stream.aborted || (length !== -1 && this.#received !== length)) this.breakOff()
    else this.upstream.end(this.#requestTrailers)
  }

  #onTrailers(raw: unknown): void {
    if (!Array.isArray(raw)) return
    let lines = ''
    let sound = true
    for (let at = 0; at < raw.length; at += 2) {
      sound &&= isHttp2Field(raw[at], raw[at + 1])
      lines += `${raw[at]}: ${raw[at + 1]}\r\n`
    }
    const facts = new FieldFacts()
    if (sound && scanFields(`${lines}\r\n`, 0, requestNames, MAX_FIELDS, facts) === undefined)
      this.#requestTrailers = facts.kept
    else this.refuse(refusal('bad_request', 'its trailers are malformed'))
  }

  #touch(): void {
    this.core.deadlines.set(this.#progress, this.core.limits.progress)
  }

  #onDeadline(): void {
    const { pending } = this.#out
    if (pending > 0 && pending !== this.#lastPending) {
      this.#lastPending = pending
      this.#touch()
    } else if (pending > 0 || this.over) this.#stream.close(constants.NGHTTP2_CANCEL)
    else this.refuse(refusal('upstream_timeout', this.head.host))
  }
}

/** The deadline of one exchange among several on a connection. */
class Progress extends Timed {
  readonly #late: () => void

  constructor(late: () => void) {
    super()
    this.#late = late
  }

  onDeadline(): void {
    this.#late()
  }
}
