import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { Out } from '../../base/io/coalescing-writer.ts'
import { litter } from '../../base/io/gc-pressure.ts'
import { packReads } from '../../base/io/packed-reads.ts'
import { resetSocket } from '../../base/io/reset.ts'
import { Timed } from '../../base/io/timer-wheel.ts'
import type { Connection } from '../connection.ts'
import type { Core, LiveConnection } from '../core.ts'
import { dispatch, isStillAdmitted } from '../dispatch.ts'
import { Refusal, refusal } from '../errors.ts'
import { ChunkedDecoder } from '../message/chunked.ts'
import { requestNames } from '../message/field-names.ts'
import { HeadBuffer, headLength } from '../message/head-buffer.ts'
import {
  MAX_HEAD_BYTES,
  oversizedHeadError,
  parseRequestHead,
  type RequestHead,
} from '../message/request-head.ts'
import { checkWebSocketRequest, isWebSocketRequest } from '../message/websocket.ts'
import { answerRefusal } from '../response.ts'
import { Http1Exchange } from './http1-exchange.ts'

const Phase = {
  /** Between requests, or inside a head. */
  head: 0,
  body: 1,
  /** The request is complete, its response is not. */
  response: 2,
  /** Upgraded: bytes pass as they are. */
  upgraded: 3,
  /** Everything was said; what still arrives is thrown away so that our last words are not lost to a reset. */
  lingering: 4,
  closed: 5,
} as const
type Phase = (typeof Phase)[keyof typeof Phase]

/** One HTTP/1 connection of a visitor: reads requests strictly, one after another, and writes what is answered. */
export class Http1Visitor extends Timed implements LiveConnection {
  readonly writer: Out
  readonly connection: Connection
  /** The request body is complete. */
  requestDone = true
  /** The connection ends after the current response. */
  closing = false
  readonly #core: Core
  readonly #socket: Duplex
  readonly #transport: Socket
  readonly #headBuffer = new HeadBuffer()
  #phase: Phase = Phase.head
  #exchange: Http1Exchange | undefined
  #chunked: ChunkedDecoder | undefined
  #bodyRemaining = 0
  /** Bytes read ahead of what can be dealt with. */
  #readAhead: Buffer | undefined
  #paused = false
  #parsing = false
  #halfClosed = false
  /** What was pending, or had been carried, when a deadline last passed. */
  #lastPending = 0

  /** `transport` is the TCP socket, `socket` the same or the TLS socket around it. */
  constructor(core: Core, socket: Duplex, transport: Socket, connection: Connection) {
    super()
    this.#core = core
    this.#socket = socket
    this.#transport = transport
    this.connection = connection
    packReads(socket)
    this.writer = new Out(socket, core.turn)
    this.writer.onRoom = () => this.#onWriterDrain()
    core.live.add(this)
    core.deadlines.set(this, core.limits.head)
    socket.on('data', (chunk: Buffer) => this.#onData(chunk))
    socket.on('end', () => this.#onEnd())
    socket.on('error', () => {})
    socket.on('close', () => this.#onClose())
  }

  /** Ends with the next answer, or soon when there is none to come: a request may be on its way right now (P9). */
  drain(): void {
    this.closing = true
    if (this.#phase === Phase.head && this.#headBuffer.size === 0)
      this.#core.deadlines.set(this, this.#core.limits.drainIdle)
  }

  destroy(): void {
    this.#transport.destroy()
  }

  /** What goes on for long, a WebSocket or a download, must obey a changed configuration as well. */
  recheck(): void {
    if (this.#exchange !== undefined && !isStillAdmitted(this.#exchange)) this.reset()
  }

  /** Ends the connection so that the visitor sees an error. */
  reset(): void {
    if (this.#phase === Phase.closed) return
    resetSocket(this.#transport, this.#socket)
  }

  /** A moment of progress: the deadline for the next one is moved. */
  touch(): void {
    if (!this.#halfClosed) this.#core.deadlines.set(this, this.#core.limits.progress)
  }

  /** The response of the current exchange was handed over completely. */
  responseDone(): void {
    if (this.#phase === Phase.closed) return
    if (this.#phase === Phase.upgraded) {
      this.writer.end()
      this.#limitHalfClosed()
      return
    }
    // An answer that came before the request was complete ends the connection: the rest of the body is not wanted.
    if (!this.requestDone || this.closing) {
      this.#lingeringClose()
      return
    }
    this.#awaitNextRequest()
  }

  /** From here on bytes pass as they are, those held back first. */
  switchToUpgraded(): void {
    this.#phase = Phase.upgraded
    this.touch()
    this.#parseReadAhead()
    // The visitor may have left before the upstream agreed.
    if (this.#socket.readableEnded) this.#onEnd()
  }

  /** Body bytes may go on: the upstream is there, or takes bytes again. */
  resumeBody(): void {
    if (!this.#parsing) this.#parseReadAhead()
  }

  /** The upstream takes no more of the body for now. */
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
        if (this.#headBuffer.size > 0) this.#reject(refusal('head_timeout'))
        else if (this.closing) this.#lingeringClose()
        else this.#transport.destroy()
        return
      case Phase.body:
        this.#exchange!.reject(refusal('body_timeout'))
        return
      case Phase.response:
        if (this.#socket.readableEnded) this.#transport.destroy()
        else this.#exchange!.reject(refusal('upstream_timeout', this.#exchange!.head.host))
        return
      case Phase.upgraded:
        // An idle WebSocket may stay.
        this.touch()
        return
      default:
        this.#transport.destroy()
    }
  }

  #onData(chunk: Buffer): void {
    const readAhead = this.#readAhead
    this.#readAhead = undefined
    this.#parseAll(readAhead === undefined ? chunk : Buffer.concat([readAhead, chunk]))
    litter(chunk)
  }

  #parseAll(chunk: Buffer): void {
    this.#parsing = true
    try {
      let rest: Buffer | undefined = chunk
      while (rest !== undefined) rest = this.#parse(rest)
    } catch (error) {
      this.#core.log.error({ err: error }, 'a connection failed inside the edge')
      this.reset()
    }
    this.#parsing = false
  }

  #parse(bytes: Buffer): Buffer | undefined {
    switch (this.#phase) {
      case Phase.head:
        // The answer to a pipelined request waits until the one before has been taken.
        return this.writer.congested ? this.#storeReadAhead(bytes) : this.#parseHead(bytes)
      case Phase.body:
        return this.#exchange!.upstream === undefined ? this.#storeReadAhead(bytes) : this.#parseBody(bytes)
      case Phase.response:
        return this.#storeReadAhead(bytes)
      case Phase.upgraded:
        if (this.#exchange!.upstream?.body(bytes) === false) this.#pauseReads()
        return undefined
      default:
        return undefined
    }
  }

  #parseHead(bytes: Buffer): Buffer | undefined {
    const all = this.#headBuffer.size === 0 ? bytes : this.#headBuffer.append(bytes)
    const size = headLength(all, this.#headBuffer.searched)
    if (size > MAX_HEAD_BYTES || (size === -1 && all.length > MAX_HEAD_BYTES)) {
      return this.#reject(oversizedHeadError(all.toString('latin1', 0, MAX_HEAD_BYTES + 1)))
    }
    if (size === -1) {
      if (this.#headBuffer.size === 0) {
        this.#headBuffer.append(bytes)
        this.#core.deadlines.set(this, this.#core.limits.head)
      }
      this.#headBuffer.searched = all.length
      return undefined
    }
    this.#headBuffer.clear()
    const scheme = this.connection.scheme === 'https' ? 'https' : 'http'
    const head = parseRequestHead(all.toString('latin1', 0, size), scheme)
    if (head instanceof Refusal) return this.#reject(head)
    this.#startExchange(head)
    return all.length === size ? undefined : all.subarray(size)
  }

  #startExchange(head: RequestHead): void {
    const { facts, minor } = head
    const exchange = new Http1Exchange(this.#core, this, head)
    this.#exchange = exchange
    this.touch()
    if (facts.close || (minor === 0 && !facts.keepAlive) || this.#core.draining) this.closing = true
    this.requestDone = !exchange.hasBody
    this.#phase = this.requestDone ? Phase.response : Phase.body
    if (!this.requestDone) {
      this.#bodyRemaining = facts.contentLength
      this.#chunked = facts.chunked ? new ChunkedDecoder(requestNames) : undefined
    }
    if (facts.expectOther) {
      exchange.reject(refusal('expectation_failed'))
      return
    }
    if (isWebSocketRequest(head)) {
      // Whatever becomes of it, this connection carries no further request.
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
        exchange.reject(refusal('bad_request', 'its chunks are malformed'))
        return undefined
      }
      rest = this.#chunked.end < bytes.length ? bytes.subarray(this.#chunked.end) : undefined
      this.requestDone = this.#chunked.done
    }
    exchange.sendBody(data, this.requestDone ? (this.#chunked?.trailers ?? '') : undefined)
    if (this.requestDone) {
      this.#chunked = undefined
      if (this.#phase === Phase.body) this.#phase = Phase.response
    }
    return rest
  }

  /** Ready for the next request of this connection. */
  #awaitNextRequest(): void {
    this.writer.release()
    this.#exchange = undefined
    this.#phase = Phase.head
    this.#core.deadlines.set(this, this.#core.limits.idle)
    if (this.#socket.readableEnded) {
      this.#lingeringClose()
      return
    }
    if (!this.#parsing) this.#parseReadAhead()
  }

  /** Turns away something that is not a request, so nothing after it can be one. */
  #reject(error: Refusal): undefined {
    const { status, fields, body } = answerRefusal(error, '')
    this.#headBuffer.clear()
    this.writer.text(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${fields}Content-Length: ${body.length}\r\nConnection: close\r\n\r\n`,
    )
    this.writer.write(body)
    this.#lingeringClose()
  }

  #lingeringClose(): void {
    this.writer.release()
    this.#exchange = undefined
    this.#chunked = undefined
    this.#readAhead = undefined
    this.#phase = Phase.lingering
    this.#core.deadlines.set(this, this.#core.limits.linger)
    this.writer.end()
    this.#resumeReads()
  }

  /** Keeps what was read ahead, one read at most: the socket is not read meanwhile. */
  #storeReadAhead(bytes: Buffer): undefined {
    this.#readAhead = bytes
    this.#pauseReads()
    return undefined
  }

  /** Deals with what was read ahead, then reads on. */
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

  /** The visitor will send nothing more. */
  #onEnd(): void {
    switch (this.#phase) {
      case Phase.head:
        this.#lingeringClose()
        return
      case Phase.body:
        // Half a request: there is nothing to answer.
        this.reset()
        return
      case Phase.response:
        // Most who end here are gone, but some wait for the answer: they get a moment.
        this.closing = true
        this.#core.deadlines.set(this, this.#core.limits.halfClosed)
        return
      case Phase.upgraded:
        this.#exchange!.upstream?.end('')
        this.#limitHalfClosed()
        return
      default:
        return
    }
  }

  /** One side of a WebSocket has ended: the other gets a moment, whatever it still sends. */
  #limitHalfClosed(): void {
    if (this.#halfClosed) return
    this.#halfClosed = true
    this.#core.deadlines.set(this, this.#core.limits.halfWebSocket)
  }

  #onClose(): void {
    const exchange = this.#exchange
    const upgraded = this.#phase === Phase.upgraded
    this.#phase = Phase.closed
    this.#exchange = undefined
    this.#core.deadlines.clear(this)
    this.#core.live.delete(this)
    exchange?.onClientClosed()
    if (upgraded) exchange?.upstream?.abort()
  }

  /** A slow reader may be slow, but must read: one that took nothing between two deadlines is cut. */
  #checkStalled(pending: number): void {
    if (pending === this.#lastPending) {
      this.reset()
      return
    }
    this.#lastPending = pending
    this.touch()
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
