import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { headLength } from '../../base/http1-framing.ts'
import { ByteQueue } from '../../base/io/byte-queue.ts'
import { CoalescingWriter } from '../../base/io/coalescing-writer.ts'
import { detachBuffer } from '../../base/io/detach-buffer.ts'
import { noteExternalGarbage } from '../../base/io/gc-pressure.ts'
import { packReads } from '../../base/io/packed-reads.ts'
import { resetSocket } from '../../base/io/reset.ts'
import { TimerEntry } from '../../base/io/timer-wheel.ts'
import type { ClientConnection } from '../connection.ts'
import type { Core, LiveConnection } from '../core.ts'
import { dispatch, isStillAdmitted } from '../dispatch.ts'
import { EdgeError, edgeError } from '../errors.ts'
import { ChunkedDecoder } from '../message/chunked.ts'
import { requestNames } from '../message/field-names.ts'
import {
  MAX_HEAD_BYTES,
  oversizedHeadError,
  parseRequestHead,
  type RequestHead,
} from '../message/request-head.ts'
import { renderError } from '../response.ts'
import { checkWebSocketRequest, isWebSocketRequest } from '../websocket.ts'
import { Http1Exchange } from './http1-exchange.ts'

const Phase = {
  /** Between requests, or inside a request head. */
  head: 0,
  body: 1,
  /** The request is complete, its response is not. */
  response: 2,
  /** WebSocket: bytes pass unchanged. */
  upgraded: 3,
  /** The last response was written; input is discarded so that a reset does not destroy the response in flight. */
  lingering: 4,
  closed: 5,
} as const
type Phase = (typeof Phase)[keyof typeof Phase]

/**
 * One HTTP/1 connection of a client: parses requests strictly, one after another, and writes their responses.
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
 *   closed <------ from every phase: socket closed, reset, timeout -----------------------+
 *
 * A response that completes while the last chunk of the body is forwarded leads from `body` to `head` directly.
 * Timeouts: in `head` `limits.head` before the first request and inside a head, `limits.idle` between requests and
 * `limits.drainIdle` while draining; in `body`, `response` and `upgraded` `limits.progress`, but `limits.halfClosed` from
 * when the client ends its side in `response` (decision 152); in `lingering` `limits.linger`. Flags beside the phase:
 *   `requestDone`  the body of the current request is complete; true between requests
 *   `closing`      the connection carries no further request after the current response
 *   `#paused`      the socket is not read: bytes are stored in `#readAhead`, or the upstream is congested
 *   `#parsing`     `#parseAll` is on the stack, so nested calls must not start a second loop
 *   `#halfClosed`  one side of a WebSocket has ended; `limits.halfWebSocket` runs and nothing extends it
 */
export class Http1ServerConnection extends TimerEntry implements LiveConnection {
  readonly writer: CoalescingWriter
  readonly connection: ClientConnection
  /** The request body is complete. */
  requestDone = true
  /** The connection closes after the current response. */
  closing = false
  readonly #core: Core
  readonly #socket: Duplex
  readonly #transport: Socket
  /** The beginning of an incomplete head. */
  readonly #partialHead = new ByteQueue()
  #phase: Phase = Phase.head
  #exchange: Http1Exchange | undefined
  #chunked: ChunkedDecoder | undefined
  #bodyRemaining = 0
  /** Bytes that were read before they can be parsed. */
  #readAhead: Buffer | undefined
  /** The chunk being parsed stays in use: it is read ahead, or the upstream keeps it. */
  #chunkRetained = false
  #paused = false
  #parsing = false
  #halfClosed = false
  /** How long an exchange may go without progress, in ticks. */
  #progressLimit: number
  /** Bytes that were pending when the progress timeout last fired. */
  #lastPending = 0

  /** `transport` is the TCP socket, `socket` the same or the TLS socket around it. */
  constructor(core: Core, socket: Duplex, transport: Socket, connection: ClientConnection) {
    super()
    this.#core = core
    this.#socket = socket
    this.#transport = transport
    this.connection = connection
    this.#progressLimit = core.limits.progress
    packReads(socket)
    this.writer = new CoalescingWriter(socket, core.flushScheduler)
    this.writer.onDrain = () => this.#onWriterDrain()
    core.connections.add(this)
    core.timers.set(this, core.limits.head)
    socket.on('data', (chunk: Buffer) => this.#onData(chunk))
    socket.on('end', () => this.#onEnd())
    socket.on('error', () => {})
    socket.on('close', () => this.#onClose())
  }

  /** Closes after the next response, or after `limits.drainIdle`: a request may be in flight (P9, decision 102). */
  drain(): void {
    this.closing = true
    if (this.#phase === Phase.head && this.#partialHead.length === 0)
      this.#core.timers.set(this, this.#core.limits.drainIdle)
  }

  destroy(): void {
    this.#transport.destroy()
  }

  /** A long exchange, such as a WebSocket or a download, must obey a changed configuration too. */
  revalidate(): void {
    if (this.#exchange !== undefined && !isStillAdmitted(this.#exchange)) this.reset()
  }

  /** Resets the connection, so that the client sees an error. */
  reset(): void {
    if (this.#phase === Phase.closed) return
    resetSocket(this.#transport, this.#socket)
  }

  /** Notes progress and extends the timeout. */
  touch(): void {
    this.#lastPending = 0
    if (!this.#halfClosed) this.#core.timers.set(this, this.#progressLimit)
  }

  /** The response of the current exchange was written completely. */
  responseDone(): void {
    if (this.#phase === Phase.closed) return
    if (this.#phase === Phase.upgraded) {
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
    this.#phase = Phase.upgraded
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
    if (this.#halfClosed) {
      this.#transport.destroy()
      return
    }
    if (this.writer.pending > 0 && this.#phase !== Phase.body) {
      this.#checkStalled(this.writer.pending)
      return
    }
    switch (this.#phase) {
      case Phase.head:
        if (this.#partialHead.length > 0) this.#reject(edgeError('head_timeout'))
        else if (this.closing) this.#lingeringClose()
        else this.#transport.destroy()
        return
      case Phase.body:
        this.#exchange!.reject(edgeError('body_timeout'))
        return
      case Phase.response:
        if (this.#socket.readableEnded) this.reset()
        else this.#exchange!.reject(edgeError('upstream_timeout', this.#exchange!.head.host))
        return
      case Phase.upgraded:
        // An idle WebSocket stays open.
        this.touch()
        return
      default:
        this.#transport.destroy()
    }
  }

  #onData(chunk: Buffer): void {
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
      this.#core.log.error({ err: error }, 'HTTP/1 connection failed with an internal error')
      this.reset()
    }
    this.#parsing = false
  }

  #parse(bytes: Buffer): Buffer | undefined {
    switch (this.#phase) {
      case Phase.head:
        // A pipelined request waits until the client has taken the response before it.
        return this.writer.congested ? this.#storeReadAhead(bytes) : this.#parseHead(bytes)
      case Phase.body:
        return this.#exchange!.upstream === undefined ? this.#storeReadAhead(bytes) : this.#parseBody(bytes)
      case Phase.response:
        return this.#storeReadAhead(bytes)
      case Phase.upgraded:
        this.#noteRetained()
        if (this.#exchange!.upstream?.writeBody(bytes) === false) this.#pauseReads()
        return undefined
      default:
        return undefined
    }
  }

  #parseHead(bytes: Buffer): Buffer | undefined {
    const searched = this.#partialHead.length
    const input = this.#partialHead.join(bytes)
    const size = headLength(input, searched)
    if (size > MAX_HEAD_BYTES || (size === -1 && input.length > MAX_HEAD_BYTES)) {
      return this.#reject(oversizedHeadError(input.toString('latin1', 0, MAX_HEAD_BYTES + 1)))
    }
    if (size === -1) {
      if (searched === 0) this.#core.timers.set(this, this.#core.limits.head)
      this.#partialHead.retain(input)
      return undefined
    }
    this.#partialHead.take()
    const scheme = this.connection.scheme === 'https' ? 'https' : 'http'
    const head = parseRequestHead(input.toString('latin1', 0, size), scheme)
    if (head instanceof EdgeError) return this.#reject(head)
    this.#startExchange(head)
    return input.length === size ? undefined : input.subarray(size)
  }

  #startExchange(head: RequestHead): void {
    const { framing, minor } = head
    const exchange = new Http1Exchange(this.#core, this, head)
    this.#exchange = exchange
    this.touch()
    if (framing.close || (minor === 0 && !framing.keepAlive) || this.#core.draining) this.closing = true
    this.requestDone = !exchange.hasBody
    this.#phase = this.requestDone ? Phase.response : Phase.body
    if (!this.requestDone) {
      this.#bodyRemaining = framing.contentLength
      this.#chunked = framing.chunked ? new ChunkedDecoder(requestNames) : undefined
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

  #parseBody(bytes: Buffer): Buffer | undefined {
    const exchange = this.#exchange!
    this.touch()
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
    this.#noteRetained()
    exchange.sendBody(data, this.requestDone ? (this.#chunked?.trailers ?? '') : undefined)
    if (this.requestDone) {
      this.#chunked = undefined
      if (this.#phase === Phase.body) this.#phase = Phase.response
    }
    return rest
  }

  /** Prepares for the next request of the connection. */
  #awaitNextRequest(): void {
    this.writer.creditAll()
    this.#exchange = undefined
    this.#phase = Phase.head
    this.#core.timers.set(this, this.#core.limits.idle)
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
    this.#exchange = undefined
    this.#chunked = undefined
    this.#readAhead = undefined
    this.#phase = Phase.lingering
    this.#core.timers.set(this, this.#core.limits.linger)
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

  #noteRetained(): void {
    if (this.#exchange!.upstream?.retainsChunks) this.#chunkRetained = true
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
    this.#exchange?.onDrain()
    if (this.#phase === Phase.head && this.#readAhead !== undefined) this.#parseReadAhead()
  }

  /** The client has ended its side. */
  #onEnd(): void {
    switch (this.#phase) {
      case Phase.head:
        this.#lingeringClose()
        return
      case Phase.body:
        // An incomplete request cannot be answered.
        this.reset()
        return
      case Phase.response:
        // Most clients that end here are gone, but some half-close and wait for the response.
        this.closing = true
        this.#progressLimit = this.#core.limits.halfClosed
        this.touch()
        return
      case Phase.upgraded:
        this.#exchange!.upstream?.endBody('')
        this.#limitHalfClosed()
        return
      default:
        return
    }
  }

  /** One side of a WebSocket has ended: the other gets `limits.halfWebSocket`, whatever it still sends. */
  #limitHalfClosed(): void {
    if (this.#halfClosed) return
    this.#halfClosed = true
    this.#core.timers.set(this, this.#core.limits.halfWebSocket)
  }

  #onClose(): void {
    const exchange = this.#exchange
    const upgraded = this.#phase === Phase.upgraded
    this.#phase = Phase.closed
    this.#exchange = undefined
    this.#core.timers.clear(this)
    this.#core.connections.delete(this)
    exchange?.onClientClosed()
    if (upgraded) exchange?.upstream?.abort()
  }

  /** Resets a client that read nothing between two timeouts; a slow reader stays connected (P16). */
  #checkStalled(pending: number): void {
    if (pending === this.#lastPending) {
      this.reset()
      return
    }
    this.#lastPending = pending
    this.#core.timers.set(this, this.#core.limits.progress)
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
