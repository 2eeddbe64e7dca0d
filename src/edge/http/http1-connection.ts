import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { Out } from '../../base/io/coalescing-writer.ts'
import { litter } from '../../base/io/gc-pressure.ts'
import { packReads } from '../../base/io/packed-reads.ts'
import { resetSocket } from '../../base/io/reset.ts'
import { Timed } from '../../base/io/timer-wheel.ts'
import type { Connection } from '../connection.ts'
import type { Core, Live } from '../core.ts'
import { dispatch, stillAllowed } from '../dispatch.ts'
import { Refusal, refusal } from '../errors.ts'
import { ChunkedBody } from '../message/chunked.ts'
import { requestNames } from '../message/field-names.ts'
import { HeadBuffer, headLength } from '../message/head-buffer.ts'
import { MAX_HEAD, oversizedHead, parseRequestHead, type RequestHead } from '../message/request-head.ts'
import { asksForWebSocket, webSocketFault } from '../message/websocket.ts'
import { answerRefusal } from '../response.ts'
import { Http1Exchange } from './http1-exchange.ts'

const Phase = {
  /** Between requests, or inside a head. */
  head: 0,
  body: 1,
  /** The request is complete, its response is not. */
  wait: 2,
  /** Upgraded: bytes pass as they are. */
  raw: 3,
  /** Everything was said; what still arrives is thrown away so that our last words are not lost to a reset. */
  linger: 4,
  closed: 5,
} as const
type Phase = (typeof Phase)[keyof typeof Phase]

/** One HTTP/1 connection of a visitor: reads requests strictly, one after another, and writes what is answered. */
export class Http1Visitor extends Timed implements Live {
  readonly out: Out
  readonly connection: Connection
  /** The request body is complete. */
  requestDone = true
  /** The connection ends after the current response. */
  closing = false
  readonly #core: Core
  readonly #socket: Duplex
  readonly #transport: Socket
  readonly #partial = new HeadBuffer()
  #phase: Phase = Phase.head
  #exchange: Http1Exchange | undefined
  #chunked: ChunkedBody | undefined
  #left = 0
  /** Bytes read ahead of what can be dealt with. */
  #rest: Buffer | undefined
  #paused = false
  #advancing = false
  #isHalf = false
  /** What was pending, or had been carried, when a deadline last passed. */
  #lastSeen = 0

  /** `transport` is the TCP socket, `socket` the same or the TLS socket around it. */
  constructor(core: Core, socket: Duplex, transport: Socket, connection: Connection) {
    super()
    this.#core = core
    this.#socket = socket
    this.#transport = transport
    this.connection = connection
    packReads(socket)
    this.out = new Out(socket, core.turn)
    this.out.onRoom = () => this.#onRoom()
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
    if (this.#phase === Phase.head && this.#partial.size === 0)
      this.#core.deadlines.set(this, this.#core.limits.farewell)
  }

  destroy(): void {
    this.#transport.destroy()
  }

  /** What goes on for long, a WebSocket or a download, must obey a changed configuration as well. */
  recheck(): void {
    if (this.#exchange !== undefined && !stillAllowed(this.#exchange)) this.reset()
  }

  /** Ends the connection so that the visitor sees an error. */
  reset(): void {
    if (this.#phase === Phase.closed) return
    resetSocket(this.#transport, this.#socket)
  }

  /** A moment of progress: the deadline for the next one is moved. */
  touch(): void {
    if (!this.#isHalf) this.#core.deadlines.set(this, this.#core.limits.progress)
  }

  /** The response of the current exchange was handed over completely. */
  responseDone(): void {
    if (this.#phase === Phase.closed) return
    if (this.#phase === Phase.raw) {
      this.out.end()
      this.#becomeHalf()
      return
    }
    // An answer that came before the request was complete ends the connection: the rest of the body is not wanted.
    if (!this.requestDone || this.closing) {
      this.#sayGoodbye()
      return
    }
    this.#next()
  }

  /** From here on bytes pass as they are, those held back first. */
  goRaw(): void {
    this.#phase = Phase.raw
    this.touch()
    this.#continue()
    // The visitor may have left before the upstream agreed.
    if (this.#socket.readableEnded) this.#onEnd()
  }

  /** Body bytes may go on: the upstream is there, or takes bytes again. */
  resume(): void {
    if (!this.#advancing) this.#continue()
  }

  /** The upstream takes no more of the body for now. */
  holdBody(): void {
    this.#pause()
  }

  onDeadline(): void {
    if (this.#isHalf) {
      this.#transport.destroy()
      return
    }
    if (this.out.pending > 0 && this.#phase !== Phase.body) {
      this.#checkStalled(this.out.pending)
      return
    }
    switch (this.#phase) {
      case Phase.head:
        if (this.#partial.size > 0) this.#refuse(refusal('head_timeout'))
        else if (this.closing) this.#sayGoodbye()
        else this.#transport.destroy()
        return
      case Phase.body:
        this.#exchange!.refuse(refusal('body_timeout'))
        return
      case Phase.wait:
        if (this.#socket.readableEnded) this.#transport.destroy()
        else this.#exchange!.refuse(refusal('upstream_timeout', this.#exchange!.head.host))
        return
      case Phase.raw:
        // An idle WebSocket may stay.
        this.touch()
        return
      default:
        this.#transport.destroy()
    }
  }

  #onData(chunk: Buffer): void {
    const rest = this.#rest
    this.#rest = undefined
    this.#advance(rest === undefined ? chunk : Buffer.concat([rest, chunk]))
    litter(chunk)
  }

  #advance(chunk: Buffer): void {
    this.#advancing = true
    try {
      let rest: Buffer | undefined = chunk
      while (rest !== undefined) rest = this.#take(rest)
    } catch (error) {
      this.#core.log.error({ err: error }, 'a connection failed inside the edge')
      this.reset()
    }
    this.#advancing = false
  }

  #take(bytes: Buffer): Buffer | undefined {
    switch (this.#phase) {
      case Phase.head:
        // The answer to a pipelined request waits until the one before has been taken.
        return this.out.congested ? this.#stash(bytes) : this.#takeHead(bytes)
      case Phase.body:
        return this.#exchange!.upstream === undefined ? this.#stash(bytes) : this.#takeBody(bytes)
      case Phase.wait:
        return this.#stash(bytes)
      case Phase.raw:
        if (this.#exchange!.upstream?.body(bytes) === false) this.#pause()
        return undefined
      default:
        return undefined
    }
  }

  #takeHead(bytes: Buffer): Buffer | undefined {
    const all = this.#partial.size === 0 ? bytes : this.#partial.append(bytes)
    const size = headLength(all, this.#partial.searched)
    if (size > MAX_HEAD || (size === -1 && all.length > MAX_HEAD)) {
      return this.#refuse(oversizedHead(all.toString('latin1', 0, MAX_HEAD + 1)))
    }
    if (size === -1) {
      if (this.#partial.size === 0) {
        this.#partial.append(bytes)
        this.#core.deadlines.set(this, this.#core.limits.head)
      }
      this.#partial.searched = all.length
      return undefined
    }
    this.#partial.clear()
    const scheme = this.connection.scheme === 'https' ? 'https' : 'http'
    const head = parseRequestHead(all.toString('latin1', 0, size), scheme)
    if (head instanceof Refusal) return this.#refuse(head)
    this.#begin(head)
    return all.length === size ? undefined : all.subarray(size)
  }

  #begin(head: RequestHead): void {
    const { facts, minor } = head
    const exchange = new Http1Exchange(this.#core, this, head)
    this.#exchange = exchange
    this.touch()
    if (facts.close || (minor === 0 && !facts.keepAlive) || this.#core.draining) this.closing = true
    this.requestDone = !exchange.hasBody
    this.#phase = this.requestDone ? Phase.wait : Phase.body
    if (!this.requestDone) {
      this.#left = facts.length
      this.#chunked = facts.chunked ? new ChunkedBody(requestNames) : undefined
    }
    if (facts.expectOther) {
      exchange.refuse(refusal('expectation_failed'))
      return
    }
    if (asksForWebSocket(head)) {
      // Whatever becomes of it, this connection carries no further request.
      this.closing = true
      const fault = webSocketFault(head)
      if (fault !== undefined) {
        exchange.refuse(fault)
        return
      }
      exchange.upgrading = true
    }
    dispatch(exchange)
  }

  #takeBody(bytes: Buffer): Buffer | undefined {
    const exchange = this.#exchange!
    this.touch()
    let piece: Buffer
    let rest: Buffer | undefined
    if (this.#chunked === undefined) {
      const size = Math.min(this.#left, bytes.length)
      piece = size === bytes.length ? bytes : bytes.subarray(0, size)
      rest = size === bytes.length ? undefined : bytes.subarray(size)
      this.#left -= size
      this.requestDone = this.#left === 0
    } else {
      piece = this.#chunked.take(bytes)
      if (this.#chunked.bad) {
        this.closing = true
        exchange.refuse(refusal('bad_request', 'its chunks are malformed'))
        return undefined
      }
      rest = this.#chunked.end < bytes.length ? bytes.subarray(this.#chunked.end) : undefined
      this.requestDone = this.#chunked.done
    }
    exchange.sendBody(piece, this.requestDone ? (this.#chunked?.trailers ?? '') : undefined)
    if (this.requestDone) {
      this.#chunked = undefined
      if (this.#phase === Phase.body) this.#phase = Phase.wait
    }
    return rest
  }

  /** Ready for the next request of this connection. */
  #next(): void {
    this.out.release()
    this.#exchange = undefined
    this.#phase = Phase.head
    this.#core.deadlines.set(this, this.#core.limits.idle)
    if (this.#socket.readableEnded) {
      this.#sayGoodbye()
      return
    }
    if (!this.#advancing) this.#continue()
  }

  /** Turns away something that is not a request, so nothing after it can be one. */
  #refuse(why: Refusal): undefined {
    const { status, fields, body } = answerRefusal(why, '')
    this.#partial.clear()
    this.out.text(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${fields}Content-Length: ${body.length}\r\nConnection: close\r\n\r\n`,
    )
    this.out.write(body)
    this.#sayGoodbye()
  }

  #sayGoodbye(): void {
    this.out.release()
    this.#exchange = undefined
    this.#chunked = undefined
    this.#rest = undefined
    this.#phase = Phase.linger
    this.#core.deadlines.set(this, this.#core.limits.linger)
    this.out.end()
    this.#unpause()
  }

  /** Keeps what was read ahead, one read at most: the socket is not read meanwhile. */
  #stash(bytes: Buffer): undefined {
    this.#rest = bytes
    this.#pause()
    return undefined
  }

  /** Deals with what was read ahead, then reads on. */
  #continue(): void {
    const rest = this.#rest
    if (rest !== undefined) {
      this.#rest = undefined
      this.#advance(rest)
    }
    if (this.#rest === undefined) this.#unpause()
  }

  #onRoom(): void {
    this.#exchange?.onRoom()
    if (this.#phase === Phase.head && this.#rest !== undefined) this.#continue()
  }

  /** The visitor will send nothing more. */
  #onEnd(): void {
    switch (this.#phase) {
      case Phase.head:
        this.#sayGoodbye()
        return
      case Phase.body:
        // Half a request: there is nothing to answer.
        this.reset()
        return
      case Phase.wait:
        // Most who end here are gone, but some wait for the answer: they get a moment.
        this.closing = true
        this.#core.deadlines.set(this, this.#core.limits.halfClosed)
        return
      case Phase.raw:
        this.#exchange!.upstream?.end('')
        this.#becomeHalf()
        return
      default:
        return
    }
  }

  /** One side of a WebSocket has ended: the other gets a moment, whatever it still sends. */
  #becomeHalf(): void {
    if (this.#isHalf) return
    this.#isHalf = true
    this.#core.deadlines.set(this, this.#core.limits.halfWebSocket)
  }

  #onClose(): void {
    const exchange = this.#exchange
    const raw = this.#phase === Phase.raw
    this.#phase = Phase.closed
    this.#exchange = undefined
    this.#core.deadlines.clear(this)
    this.#core.live.delete(this)
    exchange?.leave()
    if (raw) exchange?.upstream?.abort()
  }

  /** A slow reader may be slow, but must read: one that took nothing between two deadlines is cut. */
  #checkStalled(pending: number): void {
    if (pending === this.#lastSeen) {
      this.reset()
      return
    }
    this.#lastSeen = pending
    this.touch()
  }

  #pause(): void {
    if (this.#paused) return
    this.#paused = true
    this.#socket.pause()
  }

  #unpause(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#socket.resume()
  }
}
