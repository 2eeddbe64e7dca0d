import type { ByteStream, StreamSink } from '../../base/io/stream.ts'
import { Timed } from '../../base/io/timer-wheel.ts'
import { DialFailed, type Target } from '../backend.ts'
import { tryAgain, turnAway } from '../dispatch.ts'
import { type Refusal, refusal } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import { ChunkedBody, chunkedEnd, chunkStart } from '../message/chunked.ts'
import { responseNames } from '../message/field-names.ts'
import { HeadBuffer, headLength } from '../message/head-buffer.ts'
import { IDEMPOTENT } from '../message/methods.ts'
import {
  MAX_INTERIMS,
  MAX_RESPONSE_HEAD,
  parseResponseHead,
  type ResponseHead,
} from '../message/response-head.ts'
import { acceptsWebSocket } from '../message/websocket.ts'
import type { UpstreamPool } from './pool.ts'
import { requestText } from './request-text.ts'
import type { Upstream } from './upstream.ts'

const State = { idle: 0, head: 1, length: 2, chunked: 3, untilEnd: 4, raw: 5, closed: 6 } as const
type State = (typeof State)[keyof typeof State]

/** How many ticks a connection may have been idle to be trusted with a request that must not be repeated. */
const FRESH_TICKS = 2

/** Agents of the original's family report a failed dial this way, in a 502 of their own. */
const DIAL_FAILED = Buffer.from('failed to dial backend:')

const scratch = Buffer.allocUnsafe(64 * 1024)

/**
 * One stream to an upstream that speaks HTTP/1.1: request after request, one at a time. What it answers is not trusted;
 * after anything unclear the stream is discarded.
 */
export class Http1Upstream extends Timed implements Upstream, StreamSink {
  /** Whose client certificate this connection speaks for, '' for none. */
  readonly identity: string
  reused = false
  readonly #pool: UpstreamPool
  readonly #target: Target
  readonly #stream: ByteStream
  readonly #partial = new HeadBuffer()
  #exchange: Exchange | undefined
  #state: State = State.idle
  #chunked: ChunkedBody | undefined
  #left = 0
  #requestDone = false
  /** Something of the current response has arrived. */
  #answered = false
  #keep = false
  #trailers = ''
  /** Interim answers to the current request. */
  #interims = 0
  #idleSince = 0

  constructor(pool: UpstreamPool, target: Target, identity: string, stream: ByteStream) {
    super()
    this.#pool = pool
    this.#target = target
    this.identity = identity
    this.#stream = stream
    stream.sink = this
  }

  /** Whether this kept connection may carry this request: an unrepeatable one only if it was used a moment ago. */
  maySend(exchange: Exchange): boolean {
    return (
      IDEMPOTENT.has(exchange.head.method) || this.#pool.core.deadlines.tick - this.#idleSince <= FRESH_TICKS
    )
  }

  /** Writes the head of the request. */
  start(exchange: Exchange): void {
    this.#exchange = exchange
    this.#state = State.head
    this.#requestDone = !exchange.hasBody
    this.#answered = false
    this.#interims = 0
    this.#pool.core.deadlines.clear(this)
    const text = requestText(exchange)
    const size = scratch.write(text, 'latin1')
    this.#stream.write(size === text.length ? scratch.subarray(0, size) : Buffer.from(text, 'latin1'))
  }

  body(piece: Buffer): boolean {
    if (this.#state === State.closed) return true
    if (this.#state === State.raw || !this.#exchange!.head.facts.chunked) return this.#stream.write(piece)
    return piece.length === 0 || this.#writeChunk(piece)
  }

  end(trailers: string): void {
    if (this.#state === State.closed) return
    this.#requestDone = true
    if (this.#state === State.raw) {
      this.#stream.end()
      return
    }
    if (this.#exchange!.head.facts.chunked) this.#stream.write(Buffer.from(chunkedEnd(trailers), 'latin1'))
  }

  abort(): void {
    this.close()
  }

  /** The visitor's socket took this much. */
  consumed(bytes: number): void {
    if (this.#state !== State.closed) this.#stream.consumed(bytes)
  }

  /** Ends the connection: first the end, then a reset, since an agent may not notice a reset alone. */
  close(): void {
    if (this.#state === State.closed) return
    if (this.#state === State.idle) this.#pool.remove(this)
    this.#pool.core.deadlines.clear(this)
    this.#state = State.closed
    this.#exchange = undefined
    this.#stream.end()
    this.#stream.reset()
  }

  /** A kept connection was not used for long. */
  onDeadline(): void {
    this.close()
  }

  onData(chunk: Buffer): void {
    const exchange = this.#exchange
    // Nobody asked: whatever this is, it cannot be an answer to the next request.
    if (exchange === undefined) {
      this.close()
      return
    }
    this.#answered = true
    exchange.received(chunk.length)
    try {
      let rest: Buffer | undefined = chunk
      while (rest !== undefined) rest = this.#take(rest, exchange)
    } catch (error) {
      turnAway(exchange, error)
    }
  }

  onEnd(): void {
    switch (this.#state) {
      case State.closed:
        return
      case State.untilEnd:
        this.#keep = false
        this.#complete(this.#exchange!)
        return
      case State.raw:
        this.#exchange!.finish('')
        return
      case State.idle:
        this.close()
        return
      default:
        this.#lost()
        return
    }
  }

  onDrain(): void {
    this.#exchange?.resumeBody()
  }

  onClose(error?: Error): void {
    if (this.#state === State.closed) return
    if (this.#state === State.idle) {
      this.close()
      return
    }
    if (this.#state === State.raw && error === undefined) {
      const exchange = this.#exchange!
      this.#state = State.closed
      exchange.finish('')
      return
    }
    this.#lost(error instanceof DialFailed)
  }

  /** Takes from the bytes what belongs to the current state; returns what is left for the next one. */
  #take(bytes: Buffer, exchange: Exchange): Buffer | undefined {
    switch (this.#state) {
      case State.head:
        return this.#takeHead(bytes, exchange)
      case State.length: {
        const size = this.#left
        if (bytes.length < size) {
          this.#left = size - bytes.length
          exchange.data(bytes)
          return undefined
        }
        exchange.data(bytes.length === size ? bytes : bytes.subarray(0, size))
        if (bytes.length > size) this.#keep = false
        this.#complete(exchange)
        return undefined
      }
      case State.chunked:
        this.#takeChunked(bytes, exchange)
        return undefined
      case State.untilEnd:
      case State.raw:
        exchange.data(bytes)
        return undefined
      default:
        return undefined
    }
  }

  #takeHead(bytes: Buffer, exchange: Exchange): Buffer | undefined {
    const all = this.#partial.size === 0 ? bytes : this.#partial.append(bytes)
    const size = headLength(all, this.#partial.searched)
    if (size > MAX_RESPONSE_HEAD || (size === -1 && all.length > MAX_RESPONSE_HEAD)) {
      return this.#broken('its head is too large')
    }
    if (size === -1) {
      if (this.#partial.size === 0) this.#partial.append(bytes)
      this.#partial.searched = all.length
      return undefined
    }
    const head = parseResponseHead(all.toString('latin1', 0, size))
    if (typeof head === 'string') return this.#broken(head)
    if (!this.reused && isCutDialReport(head, all.length - size)) {
      if (this.#partial.size === 0) this.#partial.append(bytes)
      return undefined
    }
    this.#partial.clear()
    const rest = all.length === size ? undefined : all.subarray(size)
    if (head.status < 200) return this.#takeInterim(head, rest, exchange)
    return this.#takeFinal(head, rest, exchange)
  }

  #takeInterim(
    { status, reason, facts }: ResponseHead,
    rest: Buffer | undefined,
    exchange: Exchange,
  ): Buffer | undefined {
    if (status !== 101) {
      if (facts.length > 0 || facts.chunked) return this.#broken('an interim answer has a body')
      if (++this.#interims > MAX_INTERIMS) return this.#broken('it has too many interim answers')
      exchange.writeInterim(status, reason, facts.kept)
      return rest
    }
    if (!exchange.upgrading || !acceptsWebSocket(exchange, facts)) {
      return this.#broken('it changed the protocol without being asked properly')
    }
    this.#state = State.raw
    exchange.upgrade(reason, facts.kept)
    return rest
  }

  #takeFinal(head: ResponseHead, rest: Buffer | undefined, exchange: Exchange): Buffer | undefined {
    const { status, facts } = head
    if (status === 502 && !this.reused && rest !== undefined && startsWith(rest, DIAL_FAILED)) {
      this.#release()
      this.close()
      tryAgain(exchange, this.#target, 'undialled', this.#refused(exchange))
      return undefined
    }
    // After an answer that came early, or to a refused upgrade, nobody can say where the next one would begin.
    this.#keep = head.minor === 1 && !facts.close && this.#requestDone && !exchange.upgrading
    const hasBody = exchange.head.method !== 'HEAD' && status !== 204 && status !== 304
    const length = status === 204 || (!hasBody && facts.chunked) ? -1 : facts.length
    if (!hasBody || length === 0) {
      exchange.respond(status, head.reason, facts.kept, length, hasBody)
      if (rest !== undefined) this.#keep = false
      this.#complete(exchange)
      return undefined
    }
    if (facts.chunked) {
      this.#state = State.chunked
      this.#chunked = new ChunkedBody(responseNames)
    } else if (length > 0) {
      this.#state = State.length
      this.#left = length
    } else this.#state = State.untilEnd
    exchange.respond(status, head.reason, facts.kept, length, true)
    return rest
  }

  #takeChunked(bytes: Buffer, exchange: Exchange): void {
    const body = this.#chunked!
    const data = body.take(bytes)
    if (data.length > 0) exchange.data(data)
    if (body.bad) this.#broken('its chunks are malformed')
    else if (body.done) {
      if (body.end < bytes.length) this.#keep = false
      this.#trailers = body.trailers
      this.#complete(exchange)
    }
  }

  #complete(exchange: Exchange): void {
    const trailers = this.#trailers
    // The visitor may have left while its last piece was handed over.
    if (this.#state !== State.closed) {
      this.#release()
      this.#keepOrClose(this.#keep && !exchange.over)
    }
    exchange.finish(trailers)
  }

  #keepOrClose(keep: boolean): void {
    this.#state = State.idle
    this.reused = true
    const { core } = this.#pool
    if (!keep || !this.#pool.keep(this)) {
      this.close()
      return
    }
    this.#idleSince = core.deadlines.tick
    core.deadlines.set(this, core.limits.upstreamIdle)
  }

  #release(): void {
    this.#exchange = undefined
    this.#chunked = undefined
    this.#trailers = ''
  }

  /** The stream ended in the middle of something. */
  #lost(undialled = false): void {
    const exchange = this.#exchange!
    const repeatable = !this.#answered && (undialled || IDEMPOTENT.has(exchange.head.method))
    this.#release()
    this.close()
    // An end without a word may be a failed dial or a crash half-way: only what may be repeated is.
    if (!repeatable) exchange.refuse(this.#refused(exchange))
    else {
      const how = undialled ? 'undialled' : this.reused ? 'stale' : 'unanswered'
      tryAgain(exchange, this.#target, how, this.#refused(exchange))
    }
  }

  #broken(why: string): undefined {
    const exchange = this.#exchange!
    this.#release()
    this.close()
    exchange.refuse(refusal('upstream_broken', exchange.head.host, why).of(this.#target.name))
  }

  #refused(exchange: Exchange): Refusal {
    return refusal('upstream_refused', exchange.head.host).of(this.#target.name)
  }

  #writeChunk(piece: Buffer): boolean {
    const start = chunkStart(piece.length)
    if (piece.length + 16 <= scratch.length) {
      let size = scratch.write(start, 'latin1')
      size += piece.copy(scratch, size)
      scratch[size] = 13
      scratch[size + 1] = 10
      return this.#stream.write(scratch.subarray(0, size + 2))
    }
    this.#stream.write(Buffer.from(start, 'latin1'))
    this.#stream.write(piece)
    return this.#stream.write(CRLF)
  }
}

const CRLF = Buffer.from('\r\n')

/** True while it cannot be told yet whether a 502 is an agent's report of a failed dial, which names the upstream. */
function isCutDialReport({ status, facts }: ResponseHead, received: number): boolean {
  return status === 502 && facts.length >= DIAL_FAILED.length && received < DIAL_FAILED.length
}

function startsWith(bytes: Buffer, prefix: Buffer): boolean {
  return bytes.length >= prefix.length && bytes.compare(prefix, 0, prefix.length, 0, prefix.length) === 0
}
