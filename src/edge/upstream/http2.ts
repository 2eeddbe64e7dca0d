import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
} from 'node:http2'
import { hasResponseBody } from '../../base/http/http1-framing.ts'
import { noteExternalGarbage } from '../../base/io/memory/gc-pressure.ts'
import { TimerEntry } from '../../base/io/memory/timer-wheel.ts'
import type { ByteStream } from '../../base/io/streams/stream.ts'
import { StreamDuplex } from '../../base/io/streams/stream-duplex.ts'
import type { UpstreamTarget } from '../contracts/backend.ts'
import type { Exchange } from '../contracts/exchange.ts'
import type { EdgeRuntime } from '../contracts/runtime.ts'
import { IDEMPOTENT_METHODS, type Upstream } from '../contracts/upstream.ts'
import { retry } from '../dispatch.ts'
import { type EdgeError, edgeError } from '../errors.ts'
import { resetStream } from '../http2-reset.ts'
import { Http2Windows, STREAM_WINDOW_BYTES, type StreamReads } from '../http2-windows.ts'
import { responseNames } from '../message/field-names.ts'
import { MessageFraming, scanFields } from '../message/field-scan.ts'
import { toHttp2Headers } from '../message/http2-fields.ts'
import { MAX_INTERIMS, MAX_RESPONSE_FIELDS, MAX_RESPONSE_HEAD_BYTES } from '../message/response-head.ts'

/** Max response bytes of one exchange that wait for a slow client before its stream is paused. */
const MAX_UNCONSUMED_BYTES = 64 * 1024

/** The codes with which the HTTP/2 library ends a stream whose response is malformed or too large. */
const MALFORMED_RESPONSE_CODES = new Set([
  constants.NGHTTP2_PROTOCOL_ERROR,
  constants.NGHTTP2_ENHANCE_YOUR_CALM,
])

/** A connection to an upstream with HTTP/2 prior knowledge, shared by many exchanges. */
export class Http2UpstreamConnection extends TimerEntry {
  readonly #runtime: EdgeRuntime
  /** Of the target when the stream was opened. */
  readonly #pathRevision: number | undefined
  readonly #session: ClientHttp2Session
  readonly #windows: Http2Windows
  readonly #onUnusable: () => void
  #exchanges = 0
  #used = false
  #retired = false

  constructor(runtime: EdgeRuntime, target: UpstreamTarget, stream: ByteStream, onUnusable: () => void) {
    super()
    this.#runtime = runtime
    this.#pathRevision = target.pathRevision
    this.#onUnusable = onUnusable
    this.#session = connect('http://upstream', {
      createConnection: () => new StreamDuplex(stream),
      settings: {
        enablePush: false,
        initialWindowSize: STREAM_WINDOW_BYTES,
        maxHeaderListSize: MAX_RESPONSE_HEAD_BYTES,
      },
      maxHeaderListPairs: MAX_RESPONSE_FIELDS,
    })
    this.#windows = new Http2Windows({
      session: this.#session,
      clock: runtime.clock,
      budget: runtime.windows,
    })
    this.#session.on('error', () => {})
    this.#session.on('close', () => this.#onSessionClosed())
    this.#session.on('goaway', onUnusable)
    runtime.idleUpstreams.add(this)
  }

  /** False when a new exchange needs another connection. */
  isUsable({ pathRevision }: UpstreamTarget): boolean {
    return !this.#session.closed && !this.#session.destroyed && pathRevision === this.#pathRevision
  }

  /** Sends the request of this exchange. */
  start(exchange: Exchange, target: UpstreamTarget): Upstream {
    const upstream = new Http2Upstream(this.#session, this.#windows, exchange, target, this.#used, {
      onClose: () => this.#onExchangeClosed(),
      onMalformed: () => this.retire(),
    })
    this.#used = true
    this.#exchanges++
    this.#runtime.timers.clear(this)
    return upstream
  }

  close(): void {
    this.#session.destroy()
  }

  /** The connection was idle for `limits.upstreamIdle`. */
  onDeadline(): void {
    this.retire()
  }

  /**
   * Takes the connection out of use: it gets no further request, and those in flight may finish (P30, decision 116). Not
   * `session.close()`, which waits until the upstream ends its side, possibly forever.
   */
  retire(): void {
    this.#retired = true
    this.#onUnusable()
    if (this.#exchanges === 0) this.close()
  }

  #onExchangeClosed(): void {
    if (--this.#exchanges > 0) return
    if (this.#retired) this.close()
    else this.#runtime.timers.set(this, this.#runtime.limits.upstreamIdle)
  }

  #onSessionClosed(): void {
    this.#runtime.idleUpstreams.delete(this)
    this.#runtime.timers.clear(this)
    this.#onUnusable()
  }
}

/** One exchange on an HTTP/2 upstream connection. */
class Http2Upstream implements Upstream {
  /** Node's HTTP/2 streams send from the chunk itself. */
  readonly retainsChunks = true
  readonly reused: boolean
  readonly #exchange: Exchange
  readonly #target: UpstreamTarget
  readonly #stream: ClientHttp2Stream
  readonly #reads: StreamReads
  readonly #events: { onClose(): void; onMalformed(): void }
  #responseStarted = false
  #ended = false
  #unconsumed = 0
  #paused = false
  #interims = 0
  #requestTrailers = ''
  #trailers = ''

  constructor(
    session: ClientHttp2Session,
    windows: Http2Windows,
    exchange: Exchange,
    target: UpstreamTarget,
    reused: boolean,
    events: { onClose(): void; onMalformed(): void },
  ) {
    this.#events = events
    this.#exchange = exchange
    this.#target = target
    this.reused = reused
    const { hasBody } = exchange
    this.#stream = session.request(requestHeaders(exchange), {
      endStream: !hasBody,
      waitForTrailers: hasBody && exchange.head.framing.chunked,
    })
    this.#reads = windows.track(this.#stream)
    this.#stream.on('wantTrailers', () => this.#stream.sendTrailers(toHttp2Headers(this.#requestTrailers)))
    this.#stream.on('headers', (_headers, _flags, raw: unknown) => this.#guard(() => this.#onInterim(raw)))
    this.#stream.on('response', (_headers, flags, raw: unknown) => {
      this.#guard(() => this.#onHead(raw, (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0))
      // Not earlier: over a tunnel, Node emits data that arrived together with the head before the head.
      this.#stream.on('data', (chunk: Buffer) => this.#guard(() => this.#onData(chunk)))
    })
    this.#stream.on('trailers', (_headers, _flags, raw: unknown) => {
      this.#trailers = parseFields(raw)?.fieldLines ?? ''
    })
    this.#stream.on('end', () => this.#guard(() => this.#onEnd()))
    this.#stream.on('drain', () => exchange.resumeBody())
    this.#stream.on('error', () => {})
    this.#stream.on('close', () => {
      this.#onClose()
      events.onClose()
    })
  }

  writeBody(chunk: Buffer): boolean {
    return this.#stream.destroyed || this.#stream.write(chunk)
  }

  endBody(trailers: string): void {
    this.#requestTrailers = trailers
    if (!this.#stream.destroyed) this.#stream.end()
  }

  abort(): void {
    this.#ended = true
    resetStream(this.#stream, 'cancelled')
  }

  consumed(bytes: number): void {
    this.#unconsumed -= bytes
    if (!this.#paused || this.#unconsumed > MAX_UNCONSUMED_BYTES / 2) return
    this.#paused = false
    this.#stream.resume()
  }

  #onInterim(raw: unknown): void {
    const status = parseStatus(raw)
    const framing = parseFields(raw)
    // RFC 9113 section 8.6: HTTP/2 has no 101, and in HTTP/1 it would end the framing.
    if (framing === undefined || !(status > 99 && status < 200) || status === 101)
      this.#exchange.reject(this.#malformedError('an interim response is malformed'))
    else if (++this.#interims > MAX_INTERIMS)
      this.#exchange.reject(this.#malformedError('it has too many interim responses'))
    else this.#exchange.writeInterim(status, '', framing.fieldLines)
  }

  #onHead(raw: unknown, endStream: boolean): void {
    this.#responseStarted = true
    const framing = parseFields(raw)
    const status = parseStatus(raw)
    if (framing === undefined || framing.chunked || !(status > 199 && status < 600)) {
      this.#exchange.reject(this.#malformedError('its head is malformed'))
      return
    }
    // Clients of gRPC read the status from a head only if it ends the stream.
    const hasBody = !endStream && hasResponseBody(this.#exchange.head.method, status)
    this.#exchange.respond(
      status,
      '',
      framing.fieldLines,
      status === 204 ? -1 : framing.contentLength,
      hasBody,
    )
  }

  #onData(chunk: Buffer): void {
    this.#reads.consumed(chunk.length)
    this.#unconsumed += chunk.length
    if (this.#unconsumed > MAX_UNCONSUMED_BYTES && !this.#paused) {
      this.#paused = true
      this.#stream.pause()
    }
    this.#exchange.accountReceived(chunk.length)
    this.#exchange.respondBody(chunk)
    // Node's read buffers cannot be reused (decision 96).
    noteExternalGarbage(chunk)
  }

  #onEnd(): void {
    if (!this.#reads.complete || !this.#responseStarted) return
    this.#ended = true
    this.#exchange.finish(this.#trailers)
    // The rest of the request is not needed after an early response.
    if (!this.#stream.writableEnded) resetStream(this.#stream, 'cancelled')
  }

  #onClose(): void {
    if (MALFORMED_RESPONSE_CODES.has(this.#stream.rstCode ?? 0)) this.#events.onMalformed()
    if (this.#ended) return
    this.#ended = true
    const exchange = this.#exchange
    const error = edgeError('upstream_closed', exchange.head.host).withUpstream(this.#target.name)
    if (this.#responseStarted || !IDEMPOTENT_METHODS.has(exchange.head.method)) exchange.reject(error)
    else retry(exchange, this.#target, this.reused ? 'stale' : 'no_response', error)
  }

  #malformedError(reason: string): EdgeError {
    this.#events.onMalformed()
    return edgeError('upstream_broken', this.#exchange.head.host, reason).withUpstream(this.#target.name)
  }

  #guard(handle: () => void): void {
    if (this.#exchange.ended) return
    try {
      handle()
    } catch (error) {
      this.#exchange.fail(error)
    }
  }
}

function requestHeaders(exchange: Exchange): OutgoingHttpHeaders {
  const { head, connection } = exchange
  const headers = toHttp2Headers(exchange.fieldLines)
  headers[':method'] = head.method
  headers[':path'] = exchange.target
  headers[':scheme'] = 'http'
  headers[':authority'] = exchange.authority
  headers['x-forwarded-for'] = connection.remoteAddress
  headers['x-forwarded-proto'] = connection.scheme
  headers['x-forwarded-host'] = head.authority
  if (head.framing.contentLength !== -1) headers['content-length'] = head.framing.contentLength
  if (head.framing.expectContinue) headers.expect = '100-continue'
  if (head.framing.acceptsTrailers) headers.te = 'trailers'
  return headers
}

function parseStatus(raw: unknown): number {
  const list = raw as readonly string[]
  return list[0] === ':status' ? Number(list[1]) : 0
}

/** Parses the fields of an upstream's head with the same checks as HTTP/1; undefined when they fail. */
function parseFields(raw: unknown): MessageFraming | undefined {
  const list = raw as readonly string[]
  let lines = ''
  for (let index = 0; index < list.length; index += 2) {
    if (!list[index]!.startsWith(':')) lines += `${list[index]}: ${list[index + 1]}\r\n`
  }
  const framing = new MessageFraming()
  return scanFields(`${lines}\r\n`, 0, responseNames, MAX_RESPONSE_FIELDS, framing) === undefined
    ? framing
    : undefined
}
