import {
  constants,
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { Timed } from '../../base/io/timer-wheel.ts'
import type { Connection } from '../connection.ts'
import type { Core, LiveConnection } from '../core.ts'
import { dispatch, isStillAdmitted } from '../dispatch.ts'
import { Refusal } from '../errors.ts'
import { parseHttp2Head } from '../message/http2-head.ts'
import { MAX_FIELDS, MAX_HEAD_BYTES } from '../message/request-head.ts'
import { answerRefusal } from '../response.ts'
import { Http2Exchange } from './http2-exchange.ts'

/** What one connection may do to us (P23); beyond it, it alone is closed. */
const SESSION_OPTIONS = {
  settings: {
    maxConcurrentStreams: 100,
    initialWindowSize: 64 * 1024,
    maxHeaderListSize: MAX_HEAD_BYTES,
    enablePush: false,
    enableConnectProtocol: false,
  },
  maxHeaderListPairs: MAX_FIELDS + 5,
  // Blanks around a value are ours to refuse: with this check on, nghttp2 would drop the field and say nothing.
  strictFieldWhitespaceValidation: false,
  maxSessionInvalidFrames: 50,
  maxSessionRejectedStreams: 50,
  maxOutstandingPings: 10,
  maxSettings: 32,
  maxSessionMemory: 4,
  streamResetBurst: 100,
  streamResetRate: 10,
}

const SESSION_WINDOW_BYTES = 1024 * 1024

/** The highest stream id: a GOAWAY with it says "no new requests soon" without refusing those on their way. */
const MAX_STREAM_ID = 2 ** 31 - 1

/** One HTTP/2 connection of a visitor. */
export class Http2ServerConnection extends Timed implements LiveConnection {
  readonly #core: Core
  readonly #transport: Socket
  readonly #connection: Connection
  readonly #session: ServerHttp2Session
  readonly #exchanges = new Set<Http2Exchange>()
  #draining = false
  #closing = false

  constructor(core: Core, socket: TLSSocket, transport: Socket, connection: Connection) {
    super()
    this.#core = core
    this.#transport = transport
    this.#connection = connection
    this.#session = performServerHandshake(socket, SESSION_OPTIONS)
    core.live.add(this)
    core.deadlines.set(this, core.limits.head)
    this.#session.on('stream', (stream, headers, flags, raw: unknown) =>
      this.#onStream(stream, headers, flags, raw),
    )
    this.#session.on('error', () => transport.destroy())
    this.#session.on('close', () => this.#onClose())
    // A connection of HTTP/2 has no half: whoever has closed their side has left.
    socket.on('end', () => this.destroy())
    this.#session.on('connect', () => this.#session.setLocalWindowSize(SESSION_WINDOW_BYTES))
  }

  /** Asks the visitor to come back on a new connection, and a moment later takes no more here (P9). */
  drain(): void {
    if (this.#draining) return
    this.#draining = true
    if (this.#exchanges.size === 0) this.#close()
    else {
      this.#session.goaway(constants.NGHTTP2_NO_ERROR, MAX_STREAM_ID)
      this.#core.deadlines.set(this, this.#core.limits.goaway)
    }
  }

  destroy(): void {
    this.#session.destroy()
    this.#transport.destroy()
  }

  recheck(): void {
    for (const exchange of this.#exchanges) if (!isStillAdmitted(exchange)) exchange.breakOff()
  }

  /** No request for long, or the time between the two farewells is over; then what is left without one is cut. */
  onDeadline(): void {
    if (this.#exchanges.size > 0 && !this.#draining) return
    if (!this.#closing) this.#close()
    else if (this.#exchanges.size === 0) this.destroy()
  }

  #close(): void {
    this.#closing = true
    this.#session.close()
    this.#core.deadlines.set(this, this.#core.limits.linger)
  }

  #onStream(stream: ServerHttp2Stream, _headers: IncomingHttpHeaders, flags: number, raw: unknown): void {
    stream.on('error', () => {})
    const endStream = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0
    const head = parseHttp2Head(raw as string[], endStream, 'https')
    if (head instanceof Refusal) {
      rejectStream(stream, head)
      return
    }
    const exchange = new Http2Exchange(this.#core, this.#connection, head, stream, () =>
      this.#session.close(),
    )
    this.#exchanges.add(exchange)
    stream.on('close', () => {
      this.#exchanges.delete(exchange)
      if (this.#exchanges.size > 0) return
      // While it is stopping, its farewells go on as planned.
      if (this.#closing) this.#core.deadlines.set(this, this.#core.limits.linger)
      else if (!this.#draining) this.#core.deadlines.set(this, this.#core.limits.idle)
    })
    dispatch(exchange)
    exchange.resumeBody()
  }

  #onClose(): void {
    this.#core.live.delete(this)
    this.#core.deadlines.clear(this)
  }
}

/** Turns away what is not a request we could pass on. */
function rejectStream(stream: ServerHttp2Stream, error: Refusal): void {
  const { status, body } = answerRefusal(error, '')
  stream.respond({
    ':status': status,
    'adit-error-code': error.code,
    'content-type': 'text/plain; charset=utf-8',
    'content-length': body.length,
  })
  stream.end(body)
}
