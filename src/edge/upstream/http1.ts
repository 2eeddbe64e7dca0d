import { hasResponseBody, headLength } from '../../base/http/http1-framing.ts'
import { TimerEntry } from '../../base/io/memory/timer-wheel.ts'
import { ByteQueue } from '../../base/io/streams/byte-queue.ts'
import type { ByteStream, StreamSink } from '../../base/io/streams/stream.ts'
import { ConnectionLost, DIAL_FAILURE_FIELD, type DialFailure, dialFailures } from '../../sessions/index.ts'
import { DialError, type UpstreamTarget } from '../contracts/backend.ts'
import type { Exchange } from '../contracts/exchange.ts'
import { IDEMPOTENT_METHODS, type Upstream } from '../contracts/upstream.ts'
import { retry } from '../dispatch.ts'
import { type EdgeError, edgeError } from '../errors.ts'
import { ChunkedDecoder, formatChunkHeader, formatLastChunk } from '../message/chunked.ts'
import { responseNames } from '../message/field-names.ts'
import { HeaderFields } from '../message/fields.ts'
import {
  MAX_INTERIMS,
  MAX_RESPONSE_HEAD_BYTES,
  parseResponseHead,
  type ResponseHead,
} from '../message/response-head.ts'
import { isWebSocketAccept } from '../websocket.ts'
import type { UpstreamPool } from './pool.ts'
import { formatRequestHead } from './request-text.ts'

/** The exchange in flight, or the state without one. */
type State = Exchange | 'idle' | 'closed'

/** What the bytes of the exchange in flight are; the decoder stands for a chunked body. */
type ResponseState = 'head' | 'length' | ChunkedDecoder | 'untilClose' | 'upgraded'

/** Max idle ticks of a pooled connection that gets a request which must not be resent (decision 47). */
const MAX_IDLE_TICKS_NON_IDEMPOTENT = 2

/** Agents compatible with the original report a failed dial with a 502 whose body starts with this. */
const DIAL_FAILED_PREFIX = Buffer.from('failed to dial backend:')

/** Shared by all streams: a buffer passed to `ByteStream.write` is lent for that call only (decision 96). */
const scratch = Buffer.allocUnsafe(64 * 1024)

/**
 * One stream to an upstream that speaks HTTP/1.1, with one request at a time. Responses are not trusted: after anything
 * ambiguous the stream is closed (P30).
 *
 *                 1xx
 *                +---+                   +-> length ---------------------+
 *                v   |                   |                               |
 *   idle ------> head --- final head ----+-> chunked --------------------+
 *    ^   start    |  |                   |                               |
 *    |            |  +-- no body --------|-------------------------------+
 *    |            |                      |                               |
 *    |            | 101                  +-> untilClose -- stream ended -+
 *    |            v                                                      | response complete
 *    |         upgraded                                                  |
 *    |            |                                                      |
 *    +------------|---- `#reusable`, exchange not ended, pool accepts ----+
 *                 |                                                      |
 *                 | stream closed                                        | otherwise
 *                 v                                                      v
 *   closed <------+------------------------------------------------------+
 *      from every state: close(), abort(), a malformed response, or the stream ended half-way (`#onStreamLost`)
 *
 * `idle` and `closed` are a `#state`; in the others that is the exchange, and `#responseState` tells them apart.
 * `idle` closes on any byte, on the end of the stream and after `limits.upstreamIdle`. A lost stream is retried when no
 * byte of the response has arrived and the dial failed or the request is idempotent; so is an agent's dial report. Every
 * other failure rejects the exchange. Flags beside the state:
 *   `reused`            the stream has completed a request before; its loss then counts as `stale`, not `no_response`
 *   `#requestDone`      the request has been sent completely
 *   `#responseStarted`  a byte has arrived since `start`, so a lost stream is not retried
 *   `#reusable`         keep-alive, the request was complete before the final head, and no byte follows the response
 */
export class Http1Upstream extends TimerEntry implements Upstream, StreamSink {
  /** Fingerprint of the client certificate this connection serves, '' for none. */
  readonly identity: string
  readonly retainsChunks = false
  reused = false
  readonly #pool: UpstreamPool
  readonly #target: UpstreamTarget
  readonly #stream: ByteStream
  /** Of the target when the stream was opened. */
  readonly #pathRevision: number | undefined
  /** The beginning of a head that is not complete, or of a 502 that may be a dial report. */
  readonly #partialHead = new ByteQueue()
  /** How many of its bytes do not contain the end of the head. */
  #searched = 0
  #state: State = 'idle'
  #responseState: ResponseState = 'head'
  #bodyRemaining = 0
  #requestDone = false
  /** A byte has arrived since the request was sent. */
  #responseStarted = false
  #reusable = false
  /** Interim responses to the current request. */
  #interims = 0
  #idleSince = 0
  /** Requests that were sent on this stream. */
  #requests = 0

  constructor(pool: UpstreamPool, target: UpstreamTarget, identity: string, stream: ByteStream) {
    super()
    this.#pool = pool
    this.#target = target
    this.identity = identity
    this.#stream = stream
    this.#pathRevision = target.pathRevision
    stream.sink = this
  }

  /** Whether a new stream may take a better path than this one. */
  get isOutdated(): boolean {
    return this.#pathRevision !== this.#target.pathRevision
  }

  /** Whether this pooled connection may carry the request: a non-idempotent one only shortly after its last use. */
  canSend(exchange: Exchange): boolean {
    return (
      IDEMPOTENT_METHODS.has(exchange.head.method) ||
      this.#pool.runtime.timers.tick - this.#idleSince <= MAX_IDLE_TICKS_NON_IDEMPOTENT
    )
  }

  /** Writes the head of the request. */
  start(exchange: Exchange): void {
    this.#state = exchange
    this.#responseState = 'head'
    this.#requestDone = !exchange.hasBody
    this.#responseStarted = false
    this.#interims = 0
    this.#pool.runtime.timers.clear(this)
    this.#requests++
    exchange.appliedActions?.onRequestSent(this.#stream, this.#requests)
    const text = formatRequestHead(exchange)
    const size = scratch.write(text, 'latin1')
    this.#stream.write(size === text.length ? scratch.subarray(0, size) : Buffer.from(text, 'latin1'))
  }

  writeBody(chunk: Buffer): boolean {
    const exchange = this.#state
    if (typeof exchange === 'string') return true
    if (this.#responseState === 'upgraded' || !exchange.head.framing.chunked) return this.#stream.write(chunk)
    return chunk.length === 0 || this.#writeChunk(chunk)
  }

  endBody(trailers: string): void {
    const exchange = this.#state
    if (typeof exchange === 'string') return
    this.#requestDone = true
    if (this.#responseState === 'upgraded') this.#stream.end()
    else if (exchange.head.framing.chunked)
      this.#stream.write(Buffer.from(formatLastChunk(trailers), 'latin1'))
  }

  abort(): void {
    this.close()
  }

  /** The client's socket took this many bytes. */
  consumed(bytes: number): void {
    if (typeof this.#state !== 'string' || this.#state === 'idle') this.#stream.consumed(bytes)
  }

  /** Closes the stream: an end before the reset, since an agent may not notice a reset alone. */
  close(): void {
    if (this.#state === 'closed') return
    if (this.#state === 'idle') this.#pool.removeIdle(this)
    this.#pool.runtime.timers.clear(this)
    this.#state = 'closed'
    this.#stream.end()
    this.#stream.reset()
  }

  /** A pooled connection was idle for `limits.upstreamIdle`. */
  onDeadline(): void {
    this.close()
  }

  onData(chunk: Buffer): void {
    const exchange = this.#state
    // No request is in flight: these bytes must not become the response to the next one.
    if (typeof exchange === 'string') {
      this.close()
      return
    }
    this.#responseStarted = true
    exchange.accountReceived(chunk.length)
    try {
      let rest: Buffer | undefined = chunk
      // The client may disconnect in between.
      while (rest !== undefined && this.#state === exchange) rest = this.#parse(rest, exchange)
    } catch (error) {
      exchange.fail(error)
    }
  }

  onEnd(): void {
    const exchange = this.#state
    if (typeof exchange === 'string') this.close()
    else if (this.#responseState === 'untilClose') {
      this.#reusable = false
      this.#complete(exchange)
    } else if (this.#responseState === 'upgraded') exchange.finish('')
    else this.#onStreamLost(exchange, undefined)
  }

  onDrain(): void {
    if (typeof this.#state !== 'string') this.#state.resumeBody()
  }

  onClose(error?: Error): void {
    const exchange = this.#state
    if (exchange === 'closed') return
    if (exchange === 'idle') this.close()
    else if (this.#responseState === 'upgraded' && error === undefined) {
      this.#state = 'closed'
      exchange.finish('')
    } else this.#onStreamLost(exchange, error)
  }

  /** Parses the bytes of the current state; returns the rest for the next one. */
  #parse(bytes: Buffer, exchange: Exchange): Buffer | undefined {
    const state = this.#responseState
    if (typeof state !== 'string') {
      this.#parseChunked(bytes, state, exchange)
      return undefined
    }
    switch (state) {
      case 'head':
        return this.#parseHead(bytes, exchange)
      case 'length': {
        const size = this.#bodyRemaining
        if (bytes.length < size) {
          this.#bodyRemaining = size - bytes.length
          exchange.respondBody(bytes)
          return undefined
        }
        exchange.respondBody(bytes.length === size ? bytes : bytes.subarray(0, size))
        if (bytes.length > size) this.#reusable = false
        this.#complete(exchange)
        return undefined
      }
      case 'untilClose':
      case 'upgraded':
        exchange.respondBody(bytes)
        return undefined
    }
  }

  #parseHead(bytes: Buffer, exchange: Exchange): Buffer | undefined {
    const input = this.#partialHead.join(bytes)
    const size = headLength(input, this.#searched)
    if (size > MAX_RESPONSE_HEAD_BYTES || (size === -1 && input.length > MAX_RESPONSE_HEAD_BYTES)) {
      return this.#rejectResponse('its head is too large', exchange)
    }
    if (size === -1) {
      this.#partialHead.retain(input)
      this.#searched = input.length
      return undefined
    }
    const head = parseResponseHead(input.toString('latin1', 0, size))
    if (typeof head === 'string') return this.#rejectResponse(head, exchange)
    if (!this.reused && isPartialDialReport(head, input.length - size)) {
      this.#partialHead.retain(input)
      return undefined
    }
    this.#partialHead.take()
    this.#searched = 0
    const rest = input.length === size ? undefined : input.subarray(size)
    if (head.status < 200) return this.#handleInterim(head, rest, exchange)
    return this.#handleFinal(head, rest, exchange)
  }

  #handleInterim(
    { status, reason, framing }: ResponseHead,
    rest: Buffer | undefined,
    exchange: Exchange,
  ): Buffer | undefined {
    if (status !== 101) {
      if (framing.contentLength > 0 || framing.chunked)
        return this.#rejectResponse('an interim response has a body', exchange)
      if (++this.#interims > MAX_INTERIMS)
        return this.#rejectResponse('it has too many interim responses', exchange)
      exchange.writeInterim(status, reason, framing.fieldLines)
      return rest
    }
    if (!exchange.upgrading || !isWebSocketAccept(exchange, framing)) {
      return this.#rejectResponse('it switched protocols without a matching request', exchange)
    }
    this.#responseState = 'upgraded'
    exchange.upgrade(reason, framing.fieldLines)
    return rest
  }

  #handleFinal(head: ResponseHead, rest: Buffer | undefined, exchange: Exchange): Buffer | undefined {
    const { status, framing } = head
    if (status === 502 && !this.reused && rest !== undefined && startsWith(rest, DIAL_FAILED_PREFIX)) {
      this.close()
      const report = dialFailureOf(framing.fieldLines)
      retry(exchange, this.#target, 'dial_failed', this.#dialError(exchange, report))
      return undefined
    }
    // After an early response, or a declined upgrade, the start of the next response would be ambiguous.
    this.#reusable = head.minor === 1 && !framing.close && this.#requestDone && !exchange.upgrading
    const hasBody = hasResponseBody(exchange.head.method, status)
    const length = status === 204 || (!hasBody && framing.chunked) ? -1 : framing.contentLength
    if (!hasBody || length === 0) {
      exchange.respond(status, head.reason, framing.fieldLines, length, false)
      if (rest !== undefined) this.#reusable = false
      this.#complete(exchange)
      return undefined
    }
    if (framing.chunked) this.#responseState = new ChunkedDecoder(responseNames)
    else if (length > 0) {
      this.#responseState = 'length'
      this.#bodyRemaining = length
    } else this.#responseState = 'untilClose'
    exchange.respond(status, head.reason, framing.fieldLines, length, true)
    return rest
  }

  #parseChunked(bytes: Buffer, body: ChunkedDecoder, exchange: Exchange): void {
    const data = body.decode(bytes)
    if (data.length > 0) exchange.respondBody(data)
    if (body.failed) this.#rejectResponse('its chunks are malformed', exchange)
    else if (body.done) {
      if (body.consumed < bytes.length) this.#reusable = false
      this.#complete(exchange, body.trailers)
    }
  }

  #complete(exchange: Exchange, trailers = ''): void {
    // The client may have disconnected while its last chunk was written.
    if (this.#state === exchange) this.#poolOrClose(this.#reusable && !exchange.ended)
    exchange.finish(trailers)
  }

  #poolOrClose(reusable: boolean): void {
    this.#state = 'idle'
    this.#responseState = 'head'
    this.reused = true
    const { runtime } = this.#pool
    if (!reusable || this.isOutdated || !this.#pool.addIdle(this)) {
      this.close()
      return
    }
    this.#idleSince = runtime.timers.tick
    runtime.timers.set(this, runtime.limits.upstreamIdle)
  }

  /** The stream ended in the middle of an exchange. */
  #onStreamLost(exchange: Exchange, error: Error | undefined): void {
    const reason =
      error instanceof DialError
        ? 'dial_failed'
        : error instanceof ConnectionLost
          ? 'connection_lost'
          : this.reused
            ? 'stale'
            : 'no_response'
    const retryable =
      !this.#responseStarted && (reason === 'dial_failed' || IDEMPOTENT_METHODS.has(exchange.head.method))
    this.close()
    const failure =
      reason === 'dial_failed'
        ? this.#dialError(exchange, undefined)
        : this.#lostError(exchange, reason === 'connection_lost' ? 'agent_offline' : 'upstream_closed')
    // A silent end may be a failed dial or a crash half-way: only an idempotent request is resent (P31).
    if (!retryable) exchange.reject(failure)
    else retry(exchange, this.#target, reason, failure)
  }

  #rejectResponse(reason: string, exchange: Exchange): undefined {
    this.close()
    exchange.reject(edgeError('upstream_broken', exchange.head.host, reason).withUpstream(this.#target.name))
  }

  #lostError(exchange: Exchange, name: 'agent_offline' | 'upstream_closed'): EdgeError {
    return edgeError(name, exchange.head.host).withUpstream(this.#target.name)
  }

  #dialError(exchange: Exchange, failure: DialFailure = UNKNOWN_DIAL_FAILURE): EdgeError {
    return edgeError('upstream_refused', exchange.head.host, failure.reason)
      .withUpstream(this.#target.name)
      .withOwnerStep(failure.next)
  }

  #writeChunk(chunk: Buffer): boolean {
    const start = formatChunkHeader(chunk.length)
    if (chunk.length + 16 <= scratch.length) {
      let size = scratch.write(start, 'latin1')
      size += chunk.copy(scratch, size)
      scratch[size] = 13
      scratch[size + 1] = 10
      return this.#stream.write(scratch.subarray(0, size + 2))
    }
    this.#stream.write(Buffer.from(start, 'latin1'))
    this.#stream.write(chunk)
    return this.#stream.write(CRLF)
  }
}

const CRLF = Buffer.from('\r\n')

/** True while a 502 may still turn out to be an agent's dial report, whose body names the upstream. */
function isPartialDialReport({ status, framing }: ResponseHead, received: number): boolean {
  return (
    status === 502 &&
    framing.contentLength >= DIAL_FAILED_PREFIX.length &&
    received < DIAL_FAILED_PREFIX.length
  )
}

/** What agents report that do not name the failure, and what is said of addresses that the edge dials itself. */
const UNKNOWN_DIAL_FAILURE: DialFailure = {
  reason: 'no connection',
  next: 'Start the service, or correct its address; the log and the inspector of the agent name it.',
}

/** The failure that an agent's dial report names. */
function dialFailureOf(fieldLines: string): DialFailure | undefined {
  const name = new HeaderFields(fieldLines).getAll(DIAL_FAILURE_FIELD.toLowerCase())[0] ?? ''
  return Object.hasOwn(dialFailures, name) ? dialFailures[name as keyof typeof dialFailures] : undefined
}

function startsWith(bytes: Buffer, prefix: Buffer): boolean {
  return bytes.length >= prefix.length && bytes.compare(prefix, 0, prefix.length, 0, prefix.length) === 0
}
