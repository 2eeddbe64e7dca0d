import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { headLength } from '../../base/http/http1-framing.ts'
import { detachBuffer } from '../../base/io/memory/detach-buffer.ts'
import { noteExternalGarbage } from '../../base/io/memory/gc-pressure.ts'
import { TimerEntry } from '../../base/io/memory/timer-wheel.ts'
import { ByteQueue } from '../../base/io/streams/byte-queue.ts'
import { coalescePausedReads } from '../../base/io/streams/coalesced-reads.ts'
import { CoalescingWriter } from '../../base/io/streams/coalescing-writer.ts'
import { type ResettableStream, resetSocket } from '../../base/io/streams/reset.ts'
import { resolveClient } from '../client-address.ts'
import type { ClientConnection } from '../contracts/connection.ts'
import type { EdgeRuntime, LiveConnection } from '../contracts/runtime.ts'
import { dispatch, isStillAdmitted } from '../dispatch.ts'
import { EdgeError, edgeError } from '../errors.ts'
import { ChunkedDecoder } from '../message/chunked.ts'
import { requestNames } from '../message/field-names.ts'
import {
  MAX_HEAD_BYTES,
  oversizedHeadError,
  parseRequestHead,
  type RequestHead,
  rejectFirstByte,
} from '../message/request-head.ts'
import { renderError } from '../response/response.ts'
import { checkWebSocketRequest, isWebSocketRequest } from '../websocket.ts'
import { Http1Exchange } from './http1-exchange.ts'
import { Http2ServerConnection } from './http2-connection.ts'

const CR = 13
const LF = 10

/** The connection preface of HTTP/2 as far as it looks like the head of a request (RFC 9113 section 3.4). */
const HTTP2_PREFACE_HEAD = Buffer.from('PRI * HTTP/2.0\r\n\r\n')

/**
 * The exchange of the connection, or where the connection is without one. `head` is between requests and inside a request
 * head. In `lingering` the last response was written; input is discarded so that a reset does not destroy the response in
 * flight.
 */
type State = Http1Exchange | 'head' | 'lingering' | 'closed'

/**
 * One HTTP/1 connection of a client: parses requests strictly, one after another, and writes their responses. A connection
 * without TLS that begins with the preface of HTTP/2 continues as an `Http2ServerConnection` (decision 264).
 *
 *   +---------------- response done, not `closing` ---------------+
 *   |                                                              |
 *   v         head, with a body           body complete            |        101
 *   head ------------------------> body ------------------> response ---------------> upgraded
 *   |  |                             |                        ^    |                      |
 *   |  +----- head, without a body --|------------------------+    |                      |
 *   |                                |                             |                      |
 *   | bad head, head timeout,        | response done before        | response done,       |
 *   | client ended, drainIdle over   | the body is complete        | `closing`            |
 *   v                                v                             v                      |
 *   lingering <----------------------+-----------------------------+                      |
 *   |                                                                                     |
 *   | client ended, linger timeout                      both sides ended, half-close over |
 *   v                                                                                     v
 *   closed <------ from every state: socket closed, reset, timeout -----------------------+
 *
 * In `body`, `response` and `upgraded` the state is the exchange: `upgraded` when it says so, `response` when `requestDone`.
 * Timeouts: in `head` `limits.head` before the first request and inside a head, `limits.idle` between requests and
 * `limits.drainIdle` while draining; in `body` and `upgraded` `limits.progress`; in `response` the `responseTimeout` of the
 * exchange, but `limits.halfClosed` from when the client ends its side (decision 152); in `lingering` `limits.linger`. Flags beside the state:
 *   `requestDone`  the body of the current request is complete; true between requests
 *   `closing`      the connection carries no further request after the current response
 *   `#paused`      the socket is not read: bytes are stored in `#readAhead`, or the upstream is congested
 *   `#parsing`     `#parseAll` is on the stack, so nested calls must not start a second loop
 *   `#endTicks`    a WebSocket is about to end: one side has, or was asked to; a timeout runs and nothing extends it
 */
export class Http1ServerConnection extends TimerEntry implements LiveConnection {
  readonly writer: CoalescingWriter
  readonly connection: ClientConnection
  /** The request body is complete. */
  requestDone = true
  /** The connection closes after the current response. */
  closing = false
  readonly #runtime: EdgeRuntime
  readonly #socket: Duplex
  readonly #transport: ResettableStream
  /** The beginning of an incomplete head. */
  readonly #partialHead = new ByteQueue()
  #state: State = 'head'
  #isNew = true
  #chunked: ChunkedDecoder | undefined
  #bodyRemaining = 0
  /** Bytes that were read before they can be parsed. */
  #readAhead: Buffer | undefined
  /** The chunk being parsed stays in use: it is read ahead, or the upstream keeps it. */
  #chunkRetained = false
  #paused = false
  #parsing = false
  #endTicks = Number.POSITIVE_INFINITY
  /** The tick of the last byte in either direction. */
  #lastByte = 0
  /** Bytes that were pending when the progress timeout last fired. */
  #lastPending = 0

  /** `transport` is the TCP socket, `socket` the same or the TLS socket around it. */
  constructor(
    runtime: EdgeRuntime,
    socket: Duplex,
    transport: ResettableStream,
    connection: ClientConnection,
  ) {
    super()
    this.#runtime = runtime
    this.#socket = socket
    this.#transport = transport
    this.connection = connection
    coalescePausedReads(socket)
    this.writer = new CoalescingWriter(socket, runtime.flushScheduler)
    this.writer.onDrain = () => this.#onWriterDrain()
    runtime.connections.add(this)
    runtime.timers.set(this, runtime.limits.head)
    socket.on('data', this.#onData)
    socket.on('end', this.#onEnd)
    socket.on('error', () => {})
    socket.on('close', this.#onClose)
  }

  /** Closes after the next response, or after `limits.drainIdle`: a request may be in flight (P9, decision 102). */
  drain(): void {
    this.closing = true
    if (typeof this.#state !== 'string') {
      this.#state.closeWebSocket()
      if (this.#isEnding) this.#limitHalfClosed()
    } else if (this.#state === 'head' && this.#partialHead.length === 0)
      this.#runtime.timers.set(this, this.#runtime.limits.drainIdle)
  }

  destroy(): void {
    this.#transport.destroy()
  }

  /** A long exchange, such as a WebSocket or a download, must obey a changed configuration too. */
  revalidate(): void {
    if (typeof this.#state !== 'string' && !isStillAdmitted(this.#state)) this.reset()
  }

  /** Resets the connection, so that the client sees an error. */
  reset(): void {
    if (this.#state === 'closed') return
    resetSocket(this.#transport, this.#socket)
  }

  /** Notes progress and extends the timeout. */
  touch(): void {
    this.#lastPending = 0
    this.#lastByte = this.#runtime.timers.tick
    if (!this.#isEnding) this.#setDeadline(this.#progressLimit)
  }

  /** How long an exchange may go without progress, in ticks. */
  get #progressLimit(): number {
    const { limits } = this.#runtime
    if (this.#socket.readableEnded) return limits.halfClosed
    const state = this.#state
    return typeof state === 'string' || state.upgraded || !this.requestDone
      ? limits.progress
      : state.responseTimeout
  }

  /** A client that reads nothing is found in time, however long the upstream may be silent. */
  #setDeadline(ticks: number): void {
    const { timers, limits } = this.#runtime
    timers.set(this, Math.min(ticks, limits.progress))
  }

  /** A WebSocket is about to end: it is cut after this time, whatever is still sent. A later call can only shorten it. */
  limitEnd(ticks: number): void {
    if (ticks >= this.#endTicks) return
    this.#endTicks = ticks
    this.#runtime.timers.set(this, ticks)
  }

  /** The response of the current exchange was written completely. */
  responseDone(): void {
    const state = this.#state
    if (typeof state === 'string') return
    if (state.upgraded) {
      this.writer.end()
      this.#limitHalfClosed()
      return
    }
    // A response that precedes the end of the request closes the connection: the rest of the body is not read.
    if (!this.requestDone || this.closing) {
      this.#lingeringClose()
      return
    }
    this.#awaitNextRequest()
  }

  /** From here on bytes pass unchanged, those read ahead first. */
  switchToUpgraded(): void {
    this.touch()
    this.#parseReadAhead()
    // The client may have ended its side before the upstream responded.
    if (this.#socket.readableEnded) this.#onEnd()
  }

  /** Resumes the body: the upstream is connected, or takes bytes again. */
  resumeBody(): void {
    if (!this.#parsing) this.#parseReadAhead()
  }

  /** Pauses the body: the upstream is congested. */
  pauseBody(): void {
    this.#pauseReads()
  }

  onDeadline(): void {
    if (this.#isEnding) {
      this.#transport.destroy()
      return
    }
    const state = this.#state
    if (this.writer.pending > 0 && (typeof state === 'string' || this.requestDone)) {
      this.#checkStalled(this.writer.pending)
      return
    }
    switch (state) {
      case 'head':
        if (this.#partialHead.length > 0) this.#reject(edgeError('head_timeout'))
        else if (this.closing) this.#lingeringClose()
        else this.#transport.destroy()
        return
      case 'lingering':
      case 'closed':
        this.#transport.destroy()
        return
      default:
        // An idle WebSocket stays open.
        if (state.upgraded) this.touch()
        else if (!this.requestDone) state.reject(edgeError('body_timeout'))
        else this.#limitSilence(state)
    }
  }

  #limitSilence(exchange: Http1Exchange): void {
    const left = this.#progressLimit - (this.#runtime.timers.tick - this.#lastByte)
    if (left > 0) this.#setDeadline(left)
    else if (this.#socket.readableEnded) this.reset()
    else exchange.reject(exchange.silenceError())
  }

  readonly #onData = (chunk: Buffer): void => {
    const readAhead = this.#readAhead
    this.#readAhead = undefined
    this.#chunkRetained = false
    this.#parseAll(readAhead === undefined ? chunk : Buffer.concat([readAhead, chunk]))
    // Chunks that waited in a paused socket are old to the collector, which would free them late (decision 156).
    if (this.#chunkRetained) noteExternalGarbage(chunk)
    else detachBuffer(chunk)
  }

  #parseAll(chunk: Buffer): void {
    this.#parsing = true
    try {
      let rest: Buffer | undefined = chunk
      while (rest !== undefined) rest = this.#parse(rest)
    } catch (error) {
      this.#runtime.log.error({ err: error }, 'HTTP/1 connection failed with an internal error')
      this.reset()
    }
    this.#parsing = false
  }

  #parse(bytes: Buffer): Buffer | undefined {
    const state = this.#state
    if (typeof state === 'string') {
      if (state !== 'head') return undefined
      // A pipelined request waits until the client has taken the response before it.
      return this.writer.congested ? this.#storeReadAhead(bytes) : this.#parseHead(bytes)
    }
    if (state.upgraded) {
      this.#noteRetained(state)
      if (state.upstream?.writeBody(bytes) === false) this.#pauseReads()
      return undefined
    }
    if (this.requestDone || state.upstream === undefined) return this.#storeReadAhead(bytes)
    return this.#parseBody(bytes, state)
  }

  #parseHead(bytes: Buffer): Buffer | undefined {
    const searched = this.#partialHead.length
    const input = this.#partialHead.join(bytes)
    if (input[0] === CR && (input.length === 1 || input[1] === LF)) return this.#skipEmptyLine(input)
    const size = headLength(input, searched)
    if (size > MAX_HEAD_BYTES || (size === -1 && input.length > MAX_HEAD_BYTES)) {
      return this.#reject(oversizedHeadError(input.toString('latin1', 0, MAX_HEAD_BYTES + 1)))
    }
    if (size === -1) {
      const error = searched === 0 ? rejectFirstByte(input[0]!) : undefined
      if (error !== undefined) return this.#reject(error)
      if (searched === 0) this.#runtime.timers.set(this, this.#runtime.limits.head)
      this.#partialHead.retain(input)
      return undefined
    }
    this.#partialHead.take()
    const scheme = this.connection.scheme === 'https' ? 'https' : 'http'
    // RFC 9113 section 3.3: prior knowledge is for connections without TLS alone.
    if (size === HTTP2_PREFACE_HEAD.length && this.#isNew && scheme === 'http')
      if (HTTP2_PREFACE_HEAD.equals(input.subarray(0, size))) return this.#switchToHttp2(input)
    const head = parseRequestHead(input.toString('latin1', 0, size), scheme)
    if (head instanceof EdgeError) return this.#reject(head)
    this.#startExchange(head)
    return input.length === size ? undefined : input.subarray(size)
  }

  /** RFC 9112 section 2.2: some clients send an empty line before a request. */
  #skipEmptyLine(input: Buffer): Buffer | undefined {
    if (input.length === 1) {
      this.#partialHead.retain(input)
      return undefined
    }
    this.#partialHead.take()
    return input.length === 2 ? undefined : input.subarray(2)
  }

  /**
   * Hands the connection over with its first bytes. The session takes them from the paused socket, and reads by itself from
   * then on. Synchronous, so that none arrive in between.
   */
  #switchToHttp2(input: Buffer): undefined {
    const socket = this.#socket
    this.#chunkRetained = true
    this.#release()
    socket.pause()
    socket.off('data', this.#onData)
    socket.off('end', this.#onEnd)
    socket.off('close', this.#onClose)
    socket.unshift(input)
    new Http2ServerConnection(this.#runtime, socket, this.#transport, this.connection)
  }

  #startExchange(head: RequestHead): void {
    this.#isNew = false
    const { framing, minor } = head
    const client = resolveClient(this.connection, head, this.#runtime.trustedProxies)
    const isUnreadable = client instanceof EdgeError
    const exchange = new Http1Exchange(this.#runtime, this, isUnreadable ? this.connection : client, head)
    this.#state = exchange
    if (framing.close || (minor === 0 && !framing.keepAlive) || this.#runtime.draining) this.closing = true
    this.requestDone = !exchange.hasBody
    if (!this.requestDone) {
      this.#bodyRemaining = framing.contentLength
      this.#chunked = framing.chunked ? new ChunkedDecoder(requestNames) : undefined
    }
    this.touch()
    if (isUnreadable) {
      exchange.reject(client)
      return
    }
    if (framing.expectOther) {
      exchange.reject(edgeError('expectation_failed'))
      return
    }
    if (isWebSocketRequest(head)) {
      // Accepted or not, an upgrade is the last request of its connection.
      this.closing = true
      const error = checkWebSocketRequest(head)
      if (error !== undefined) {
        exchange.reject(error)
        return
      }
      exchange.upgrading = true
    }
    dispatch(exchange)
  }

  #parseBody(bytes: Buffer, exchange: Http1Exchange): Buffer | undefined {
    let data: Buffer
    let rest: Buffer | undefined
    if (this.#chunked === undefined) {
      const size = Math.min(this.#bodyRemaining, bytes.length)
      data = size === bytes.length ? bytes : bytes.subarray(0, size)
      rest = size === bytes.length ? undefined : bytes.subarray(size)
      this.#bodyRemaining -= size
      this.requestDone = this.#bodyRemaining === 0
    } else {
      data = this.#chunked.decode(bytes)
      if (this.#chunked.failed) {
        this.closing = true
        exchange.reject(edgeError('bad_request', 'its chunks are malformed'))
        return undefined
      }
      rest = this.#chunked.consumed < bytes.length ? bytes.subarray(this.#chunked.consumed) : undefined
      this.requestDone = this.#chunked.done
    }
    this.touch()
    this.#noteRetained(exchange)
    exchange.sendBody(data, this.requestDone ? (this.#chunked?.trailers ?? '') : undefined)
    if (this.requestDone) this.#chunked = undefined
    return rest
  }

  /** Prepares for the next request of the connection. */
  #awaitNextRequest(): void {
    this.writer.creditAll()
    this.#state = 'head'
    this.#runtime.timers.set(this, this.#runtime.limits.idle)
    if (this.#socket.readableEnded) {
      this.#lingeringClose()
      return
    }
    if (!this.#parsing) this.#parseReadAhead()
  }

  /** Rejects input that is not a request; nothing after it can be one. */
  #reject(error: EdgeError): undefined {
    const { status, fields, body } = renderError(error, '')
    this.#partialHead.take()
    this.writer.writeText(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${fields}Content-Length: ${body.length}\r\nConnection: close\r\n\r\n`,
    )
    this.writer.write(body)
    this.#lingeringClose()
  }

  #lingeringClose(): void {
    this.writer.creditAll()
    this.#state = 'lingering'
    this.#chunked = undefined
    this.#readAhead = undefined
    this.#runtime.timers.set(this, this.#runtime.limits.linger)
    this.writer.end()
    this.#resumeReads()
  }

  /** Stores bytes that cannot be parsed yet, one read at most: the socket is paused meanwhile. */
  #storeReadAhead(bytes: Buffer): undefined {
    this.#readAhead = bytes
    this.#chunkRetained = true
    this.#pauseReads()
    return undefined
  }

  #noteRetained({ upstream }: Http1Exchange): void {
    if (upstream?.retainsChunks) this.#chunkRetained = true
  }

  /** Parses the bytes read ahead, then resumes reading. */
  #parseReadAhead(): void {
    const readAhead = this.#readAhead
    if (readAhead !== undefined) {
      this.#readAhead = undefined
      this.#parseAll(readAhead)
    }
    if (this.#readAhead === undefined) this.#resumeReads()
  }

  #onWriterDrain(): void {
    if (typeof this.#state !== 'string') this.#state.onDrain()
    if (this.#state === 'head' && this.#readAhead !== undefined) this.#parseReadAhead()
  }

  /** The client has ended its side. */
  readonly #onEnd = (): void => {
    const state = this.#state
    switch (state) {
      case 'head':
        this.#lingeringClose()
        return
      case 'lingering':
      case 'closed':
        return
      default:
        if (state.upgraded) {
          state.upstream?.endBody('')
          this.#limitHalfClosed()
        } else if (this.requestDone) {
          // Most clients that end here are gone, but some half-close and wait for the response.
          this.closing = true
          this.touch()
        }
        // An incomplete request cannot be answered.
        else this.reset()
    }
  }

  get #isEnding(): boolean {
    return this.#endTicks !== Number.POSITIVE_INFINITY
  }

  /** One side of a WebSocket has ended: the other may answer. When the edge stops, it does not wait for a client that is gone. */
  #limitHalfClosed(): void {
    const { draining, limits } = this.#runtime
    if (!draining) this.limitEnd(limits.halfWebSocket)
    else this.limitEnd(this.#socket.readableEnded ? limits.drainIdle : limits.closedWebSocket)
  }

  readonly #onClose = (): void => {
    const state = this.#state
    this.#release()
    if (typeof state === 'string') return
    state.onClientClosed()
    if (state.upgraded) state.upstream?.abort()
  }

  #release(): void {
    this.#state = 'closed'
    this.#runtime.timers.clear(this)
    this.#runtime.connections.delete(this)
  }

  /** Resets a client that read nothing between two timeouts; a slow reader stays connected (P16). */
  #checkStalled(pending: number): void {
    if (pending === this.#lastPending) {
      this.reset()
      return
    }
    this.#lastPending = pending
    this.#runtime.timers.set(this, this.#runtime.limits.progress)
  }

  #pauseReads(): void {
    if (this.#paused) return
    this.#paused = true
    this.#socket.pause()
  }

  #resumeReads(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#socket.resume()
  }
}
