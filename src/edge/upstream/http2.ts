import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
} from 'node:http2'
import { litter } from '../../base/io/gc-pressure.ts'
import { packReads } from '../../base/io/packed-reads.ts'
import type { ByteStream } from '../../base/io/stream.ts'
import { StreamDuplex } from '../../base/io/stream-duplex.ts'
import { Timed } from '../../base/io/timer-wheel.ts'
import type { Target } from '../backend.ts'
import type { Core } from '../core.ts'
import { tryAgain, turnAway } from '../dispatch.ts'
import { type Refusal, refusal } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import { responseNames } from '../message/field-names.ts'
import { FieldFacts, scanFields } from '../message/field-scan.ts'
import { toHeaders } from '../message/http2-fields.ts'
import { IDEMPOTENT } from '../message/methods.ts'
import { MAX_INTERIMS, MAX_RESPONSE_FIELDS, MAX_RESPONSE_HEAD } from '../message/response-head.ts'
import type { Upstream } from './upstream.ts'

/** Response bytes of one exchange that may wait here for a slow visitor. */
const WINDOW = 64 * 1024

/** How a stream ends whose answer the HTTP/2 library itself found to be malformed or too large. */
const BROKEN = new Set([constants.NGHTTP2_PROTOCOL_ERROR, constants.NGHTTP2_ENHANCE_YOUR_CALM])

/** A connection to an upstream that wants HTTP/2 with prior knowledge; many exchanges share it. */
export class Http2Connection extends Timed {
  readonly #core: Core
  readonly #session: ClientHttp2Session
  readonly #onOver: () => void
  #exchanges = 0
  #used = false
  #retired = false

  constructor(core: Core, stream: ByteStream, onOver: () => void) {
    super()
    this.#core = core
    this.#onOver = onOver
    this.#session = connect('http://upstream', {
      createConnection: () => new StreamDuplex(stream),
      settings: { enablePush: false, initialWindowSize: WINDOW, maxHeaderListSize: MAX_RESPONSE_HEAD },
      maxHeaderListPairs: MAX_RESPONSE_FIELDS,
    })
    this.#session.on('error', () => {})
    this.#session.on('close', () => this.#over())
    this.#session.on('goaway', onOver)
    core.idle.add(this)
  }

  /** False when a new exchange needs another connection. */
  get usable(): boolean {
    return !this.#session.closed && !this.#session.destroyed
  }

  /** Sends the request of this exchange. */
  start(exchange: Exchange, target: Target): Upstream {
    const upstream = new Http2Upstream(this.#session, exchange, target, this.#used, {
      over: () => this.#done(),
      broken: () => this.#retire(),
    })
    this.#used = true
    this.#exchanges++
    this.#core.deadlines.clear(this)
    return upstream
  }

  close(): void {
    this.#session.destroy()
  }

  /** Nobody used it for long. */
  onDeadline(): void {
    this.#retire()
  }

  /**
   * What answers badly gets no further request; those under way may finish (P30). Not `session.close()`: that one waits
   * until the upstream has ended its side, which it need not ever do.
   */
  #retire(): void {
    this.#retired = true
    this.#onOver()
    if (this.#exchanges === 0) this.close()
  }

  #done(): void {
    if (--this.#exchanges > 0) return
    if (this.#retired) this.close()
    else this.#core.deadlines.set(this, this.#core.limits.upstreamIdle)
  }

  #over(): void {
    this.#core.idle.delete(this)
    this.#core.deadlines.clear(this)
    this.#onOver()
  }
}

/** One exchange on such a connection. */
class Http2Upstream implements Upstream {
  readonly reused: boolean
  readonly #exchange: Exchange
  readonly #target: Target
  readonly #stream: ClientHttp2Stream
  readonly #events: { over(): void; broken(): void }
  #answered = false
  #ended = false
  #unread = 0
  #paused = false
  #interims = 0
  #requestTrailers = ''
  #trailers = ''

  constructor(
    session: ClientHttp2Session,
    exchange: Exchange,
    target: Target,
    reused: boolean,
    events: { over(): void; broken(): void },
  ) {
    this.#events = events
    this.#exchange = exchange
    this.#target = target
    this.reused = reused
    const { hasBody } = exchange
    this.#stream = session.request(requestHeaders(exchange), {
      endStream: !hasBody,
      waitForTrailers: hasBody && exchange.head.facts.chunked,
    })
    packReads(this.#stream)
    this.#stream.on('wantTrailers', () => this.#stream.sendTrailers(toHeaders(this.#requestTrailers)))
    this.#stream.on('headers', (_headers, _flags, raw: unknown) => this.#guarded(() => this.#onInterim(raw)))
    this.#stream.on('response', (_headers, _flags, raw: unknown) => {
      this.#guarded(() => this.#onHead(raw))
      // Not earlier: over a tunnel Node hands out a body that came with its head before it.
      this.#stream.on('data', (piece: Buffer) => this.#guarded(() => this.#onData(piece)))
    })
    this.#stream.on('trailers', (_headers, _flags, raw: unknown) => {
      this.#trailers = readFields(raw)?.kept ?? ''
    })
    this.#stream.on('end', () => this.#guarded(() => this.#onEnd()))
    this.#stream.on('drain', () => exchange.resumeBody())
    this.#stream.on('error', () => {})
    this.#stream.on('close', () => {
      this.#onClose()
      events.over()
    })
  }

  body(piece: Buffer): boolean {
    return this.#stream.destroyed || this.#stream.write(piece)
  }

  end(trailers: string): void {
    this.#requestTrailers = trailers
    if (!this.#stream.destroyed) this.#stream.end()
  }

  abort(): void {
    this.#ended = true
    this.#stream.close(constants.NGHTTP2_CANCEL)
  }

  consumed(bytes: number): void {
    this.#unread -= bytes
    if (!this.#paused || this.#unread > WINDOW / 2) return
    this.#paused = false
    this.#stream.resume()
  }

  #onInterim(raw: unknown): void {
    const status = statusOf(raw)
    const facts = readFields(raw)
    // RFC 9113 section 8.6: HTTP/2 has no 101, and in HTTP/1 it would end the framing.
    if (facts === undefined || !(status > 99 && status < 200) || status === 101)
      this.#exchange.refuse(this.#broken('an interim answer is malformed'))
    else if (++this.#interims > MAX_INTERIMS)
      this.#exchange.refuse(this.#broken('it has too many interim answers'))
    else this.#exchange.writeInterim(status, '', facts.kept)
  }

  #onHead(raw: unknown): void {
    this.#answered = true
    const facts = readFields(raw)
    const status = statusOf(raw)
    if (facts === undefined || facts.chunked || !(status > 199 && status < 600)) {
      this.#exchange.refuse(this.#broken('its head is malformed'))
      return
    }
    const hasBody = this.#exchange.head.method !== 'HEAD' && status !== 204 && status !== 304
    this.#exchange.respond(status, '', facts.kept, status === 204 ? -1 : facts.length, hasBody)
  }

  #onData(piece: Buffer): void {
    this.#unread += piece.length
    if (this.#unread > WINDOW && !this.#paused) {
      this.#paused = true
      this.#stream.pause()
    }
    this.#exchange.received(piece.length)
    this.#exchange.data(piece)
    litter(piece)
  }

  #onEnd(): void {
    // Node also says "end" after a reset; only a stream that ended cleanly has all of its body.
    if (this.#stream.rstCode !== constants.NGHTTP2_NO_ERROR || !this.#answered) return
    this.#ended = true
    this.#exchange.finish(this.#trailers)
  }

  #onClose(): void {
    if (BROKEN.has(this.#stream.rstCode ?? 0)) this.#events.broken()
    if (this.#ended) return
    this.#ended = true
    const exchange = this.#exchange
    const otherwise = refusal('upstream_refused', exchange.head.host).of(this.#target.name)
    if (this.#answered || !IDEMPOTENT.has(exchange.head.method)) exchange.refuse(otherwise)
    else tryAgain(exchange, this.#target, this.reused ? 'stale' : 'unanswered', otherwise)
  }

  #broken(why: string): Refusal {
    this.#events.broken()
    return refusal('upstream_broken', this.#exchange.head.host, why).of(this.#target.name)
  }

  #guarded(act: () => void): void {
    if (this.#exchange.over) return
    try {
      act()
    } catch (error) {
      turnAway(this.#exchange, error)
    }
  }
}

function requestHeaders(exchange: Exchange): OutgoingHttpHeaders {
  const { head, connection } = exchange
  const headers = toHeaders(exchange.fieldLines)
  headers[':method'] = head.method
  headers[':path'] = head.target
  headers[':scheme'] = 'http'
  headers[':authority'] = exchange.authority
  headers['x-forwarded-for'] = connection.remoteAddress
  headers['x-forwarded-proto'] = connection.scheme
  headers['x-forwarded-host'] = head.authority
  if (head.facts.length !== -1) headers['content-length'] = head.facts.length
  if (head.facts.expectContinue) headers.expect = '100-continue'
  if (head.facts.trailers) headers.te = 'trailers'
  return headers
}

function statusOf(raw: unknown): number {
  const list = raw as readonly string[]
  return list[0] === ':status' ? Number(list[1]) : 0
}

/** The fields of an upstream's head through the same guard as in HTTP/1; undefined when it does not pass. */
function readFields(raw: unknown): FieldFacts | undefined {
  const list = raw as readonly string[]
  let lines = ''
  for (let at = 0; at < list.length; at += 2) {
    if (!list[at]!.startsWith(':')) lines += `${list[at]}: ${list[at + 1]}\r\n`
  }
  const facts = new FieldFacts()
  return scanFields(`${lines}\r\n`, 0, responseNames, MAX_RESPONSE_FIELDS, facts) === undefined
    ? facts
    : undefined
}
