import { constants, type ServerHttp2Stream } from 'node:http2'
import { noteExternalGarbage } from '../../base/io/memory/gc-pressure.ts'
import { TimerEntry } from '../../base/io/memory/timer-wheel.ts'
import { type ByteSource, CoalescingWriter } from '../../base/io/streams/coalescing-writer.ts'
import type { ClientConnection } from '../contracts/connection.ts'
import { Exchange } from '../contracts/exchange.ts'
import type { EdgeRuntime } from '../contracts/runtime.ts'
import { edgeError } from '../errors.ts'
import { resetStream } from '../http2-reset.ts'
import type { StreamReads } from '../http2-windows.ts'
import { requestNames } from '../message/field-names.ts'
import { MessageFraming, scanFields } from '../message/field-scan.ts'
import { toHttp2Headers } from '../message/http2-fields.ts'
import { http2FieldFault } from '../message/http2-head.ts'
import { MAX_FIELDS, type RequestHead } from '../message/request-head.ts'

/** An exchange whose client speaks HTTP/2. */
export class Http2Exchange extends Exchange {
  readonly #stream: ServerHttp2Stream
  readonly #writer: CoalescingWriter
  readonly #progressTimeout: ProgressTimeout
  readonly #closeSession: () => void
  /** Undefined for a request without a body. */
  readonly #reads: StreamReads | undefined
  #received = 0
  #flowing = false
  #lastPending = 0
  /** The tick of the last byte in either direction. */
  #lastByte = 0
  /** The stream ends with trailers, which may be empty. */
  #waitsForTrailers = false
  /** Trailers of the response, set when it ends. */
  #trailers = ''
  /** Trailers of the request, stored until it ends. */
  #requestTrailers = ''

  constructor(
    runtime: EdgeRuntime,
    connection: ClientConnection,
    head: RequestHead,
    stream: ServerHttp2Stream,
    { reads, closeSession }: { reads: StreamReads | undefined; closeSession(): void },
  ) {
    super(runtime, connection, head)
    this.#stream = stream
    this.#closeSession = closeSession
    this.#reads = reads
    this.#writer = new CoalescingWriter(stream, runtime.flushScheduler)
    this.#writer.onDrain = () => this.onClientDrain()
    this.#progressTimeout = new ProgressTimeout(() => this.#onDeadline())
    this.touch()
    stream.on('wantTrailers', () => this.#sendTrailers())
    stream.on('trailers', (_headers, _flags, raw: unknown) => this.#onTrailers(raw))
    stream.on('close', () => {
      runtime.timers.clear(this.#progressTimeout)
      this.#writer.creditAll()
      this.onClientClosed()
    })
  }

  /** Starts or resumes the body once an upstream is connected. */
  resumeBody(): void {
    if (!this.hasBody || this.upstream === undefined) return
    if (this.#flowing) {
      this.#stream.resume()
      return
    }
    this.#flowing = true
    this.#stream.on('data', (chunk: Buffer) => this.#onData(chunk))
    this.#stream.on('end', () => this.#onEnd())
  }

  writeInterim(status: number, _reason: string, fields: string): void {
    if (this.ended || this.#stream.headersSent || this.#stream.destroyed) return
    this.#stream.additionalHeaders({ ...toHttp2Headers(fields), ':status': status })
  }

  /** Unreachable: the edge does not offer WebSocket over HTTP/2. */
  protected writeUpgrade(): void {
    this.abort()
  }

  disableKeepAlive(): void {
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
    const headers = toHttp2Headers(fields)
    headers[':status'] = status
    if (length >= 0) headers['content-length'] = length
    this.#waitsForTrailers = hasBody && length === -1
    this.#stream.respond(headers, { endStream: !hasBody, waitForTrailers: this.#waitsForTrailers })
  }

  protected writeBody(chunk: Buffer): void {
    this.#writer.write(chunk)
    this.touch()
  }

  protected writeEnd(trailers: string): void {
    this.#trailers = trailers
    this.#writer.end()
    if (this.#waitsForTrailers) return
    if (this.#stream.writableFinished) this.#stopRequest()
    else this.#stream.once('finish', () => this.#stopRequest())
  }

  protected get congested(): boolean {
    return this.#writer.congested
  }

  protected account(bytes: number, source: ByteSource | undefined): void {
    // Bytes of an abandoned upstream must not be credited to the next one.
    if (this.#writer.source !== source) this.#writer.creditAll()
    this.#writer.source = source
    this.#writer.account(bytes)
  }

  protected resetClient(): void {
    resetStream(this.#stream, 'failed')
  }

  #sendTrailers(): void {
    this.#stream.sendTrailers(toHttp2Headers(this.#trailers))
    // Node sends them in the next iteration, but not on a stream that is closed by then.
    setImmediate(() => this.#stopRequest())
  }

  /** RFC 9113 section 8.1: after an early response, which was sent completely, the rest of the request body is not read. */
  #stopRequest(): void {
    if (this.hasBody && !this.#stream.readableEnded) this.#stream.close(constants.NGHTTP2_NO_ERROR)
  }

  #onData(chunk: Buffer): void {
    const { contentLength } = this.head.framing
    this.#received += chunk.length
    this.#reads?.consumed(chunk.length)
    this.touch()
    if (this.ended || this.upstream === undefined) return
    if (contentLength !== -1 && this.#received > contentLength) {
      this.abort()
      return
    }
    this.countRequestBytes(chunk.length)
    this.bodySent = true
    if (!this.upstream.writeBody(chunk)) this.#stream.pause()
    // Node's read buffers cannot be reused (decision 96).
    noteExternalGarbage(chunk)
  }

  #onEnd(): void {
    if (this.ended || this.upstream === undefined) return
    const { contentLength } = this.head.framing
    // A body that is shorter than declared, or was reset, must not look complete (P18).
    if (!this.#reads?.complete || (contentLength !== -1 && this.#received !== contentLength)) this.abort()
    else this.upstream.endBody(this.#requestTrailers)
  }

  #onTrailers(raw: unknown): void {
    if (!Array.isArray(raw)) return
    let lines = ''
    let valid = true
    for (let index = 0; index < raw.length; index += 2) {
      valid &&= http2FieldFault(raw[index], raw[index + 1]) === undefined
      lines += `${raw[index]}: ${raw[index + 1]}\r\n`
    }
    const framing = new MessageFraming()
    if (valid && scanFields(`${lines}\r\n`, 0, requestNames, MAX_FIELDS, framing) === undefined)
      this.#requestTrailers = framing.fieldLines
    else this.reject(edgeError('bad_request', 'its trailers are malformed'))
  }

  protected touch(): void {
    this.#lastByte = this.runtime.timers.tick
    this.#setDeadline(this.responseTimeout)
  }

  /** A client that reads nothing is found in time, however long the upstream may be silent. */
  #setDeadline(ticks: number): void {
    const { timers, limits } = this.runtime
    timers.set(this.#progressTimeout, Math.min(ticks, limits.progress))
  }

  #onDeadline(): void {
    const { pending } = this.#writer
    if (pending > 0 && pending !== this.#lastPending) {
      this.#lastPending = pending
      this.touch()
      return
    }
    if (pending > 0 || this.ended) {
      resetStream(this.#stream, 'cancelled')
      return
    }
    const left = this.responseTimeout - (this.runtime.timers.tick - this.#lastByte)
    if (left > 0) this.#setDeadline(left)
    else this.reject(this.silenceError())
  }
}

/** The progress timeout of one exchange among several on a connection. */
class ProgressTimeout extends TimerEntry {
  readonly #onTimeout: () => void

  constructor(onTimeout: () => void) {
    super()
    this.#onTimeout = onTimeout
  }

  onDeadline(): void {
    this.#onTimeout()
  }
}
