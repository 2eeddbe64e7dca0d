import {
  constants,
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { Duplex } from 'node:stream'
import { TimerEntry } from '../../base/io/memory/timer-wheel.ts'
import { resolveClient } from '../client-address.ts'
import type { ClientConnection } from '../contracts/connection.ts'
import type { EdgeRuntime, LiveConnection } from '../contracts/runtime.ts'
import { dispatch, isStillAdmitted } from '../dispatch.ts'
import { EdgeError } from '../errors.ts'
import { Http2Windows, STREAM_WINDOW_BYTES } from '../http2-windows.ts'
import { parseHttp2Head } from '../message/http2-head.ts'
import { MAX_FIELDS, MAX_HEAD_BYTES } from '../message/request-head.ts'
import { renderError } from '../response/response.ts'
import { Http2Exchange } from './http2-exchange.ts'

/** Limits of one connection (P23); exceeding them closes that connection alone. */
const SESSION_OPTIONS = {
  settings: {
    maxConcurrentStreams: 100,
    initialWindowSize: STREAM_WINDOW_BYTES,
    maxHeaderListSize: MAX_HEAD_BYTES,
    enablePush: false,
    enableConnectProtocol: false,
  },
  maxHeaderListPairs: MAX_FIELDS + 5,
  // The edge rejects whitespace around a value: with this check on, nghttp2 would drop the field silently (decision 115).
  strictFieldWhitespaceValidation: false,
  // Each stream is one that a client opens beyond the limit before it knows it; Envoy opens up to 1,024.
  maxSessionInvalidFrames: 2000,
  // Node counts a cancelled stream until its next turn: a client that opens as many again at once is above the limit for a moment.
  maxSessionRejectedStreams: 10_000,
  maxOutstandingPings: 10,
  maxSettings: 32,
  maxSessionMemory: 4,
  // Clients of gRPC reset every call that they cancel or that misses its deadline.
  streamResetBurst: 1000,
  streamResetRate: 33,
}

/** A proxy resets what its visitors cancel, and limits these by itself: one of them must not end the streams of the others. */
const PROXY_SESSION_OPTIONS = { ...SESSION_OPTIONS, streamResetBurst: 100_000, streamResetRate: 10_000 }

/** The highest stream id: a GOAWAY with it announces the shutdown without rejecting requests in flight. */
const MAX_STREAM_ID = 2 ** 31 - 1

/** One HTTP/2 connection of a client. */
export class Http2ServerConnection extends TimerEntry implements LiveConnection {
  readonly #runtime: EdgeRuntime
  readonly #transport: Duplex
  readonly #connection: ClientConnection
  /** Undefined for a proxy: some send the scheme that their client used, and forwarding fields tell it anyway. */
  readonly #scheme: 'http' | 'https' | undefined
  readonly #session: ServerHttp2Session
  readonly #windows: Http2Windows
  readonly #exchanges = new Set<Http2Exchange>()
  #draining = false
  #closing = false

  /** `transport` is the TCP socket, `socket` the same or the TLS socket around it. */
  constructor(runtime: EdgeRuntime, socket: Duplex, transport: Duplex, connection: ClientConnection) {
    super()
    this.#runtime = runtime
    this.#transport = transport
    this.#connection = connection
    const scheme = connection.scheme === 'https' ? 'https' : 'http'
    this.#scheme = connection.isProxy === true ? undefined : scheme
    this.#session = performServerHandshake(
      socket,
      connection.isProxy === true ? PROXY_SESSION_OPTIONS : SESSION_OPTIONS,
    )
    this.#windows = new Http2Windows({
      session: this.#session,
      clock: runtime.clock,
      budget: runtime.windows,
    })
    runtime.connections.add(this)
    runtime.timers.set(this, runtime.limits.head)
    this.#session.on('stream', (stream, headers, flags, raw: unknown) =>
      this.#onStream(stream, headers, flags, raw),
    )
    this.#session.on('error', () => transport.destroy())
    this.#session.on('close', () => this.#onClose())
    // HTTP/2 has no half-closed connection: a client that ended its side is gone.
    socket.on('end', () => this.destroy())
  }

  /** Sends GOAWAY (max id), then the final GOAWAY after `limits.goaway`; at once on an idle connection (P9). */
  drain(): void {
    if (this.#draining) return
    this.#draining = true
    if (this.#exchanges.size === 0) this.#close()
    else {
      this.#session.goaway(constants.NGHTTP2_NO_ERROR, MAX_STREAM_ID)
      this.#runtime.timers.set(this, this.#runtime.limits.goaway)
    }
  }

  destroy(): void {
    this.#session.destroy()
    this.#transport.destroy()
  }

  revalidate(): void {
    for (const exchange of this.#exchanges) if (!isStillAdmitted(exchange)) exchange.abort()
  }

  /** Closes an idle connection, or sends the final GOAWAY; then destroys a connection without exchanges. */
  onDeadline(): void {
    if (this.#exchanges.size > 0 && !this.#draining) return
    if (!this.#closing) this.#close()
    else if (this.#exchanges.size === 0) this.destroy()
  }

  #close(): void {
    this.#closing = true
    this.#session.close()
    this.#runtime.timers.set(this, this.#runtime.limits.linger)
  }

  #onStream(stream: ServerHttp2Stream, _headers: IncomingHttpHeaders, flags: number, raw: unknown): void {
    stream.on('error', () => {})
    const endStream = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0
    const reads = endStream ? undefined : this.#windows.track(stream)
    const head = parseHttp2Head(raw as string[], endStream, this.#scheme)
    if (head instanceof EdgeError) {
      rejectStream(stream, head)
      return
    }
    const client = resolveClient(this.#connection, head, this.#runtime.trustedProxies)
    if (client instanceof EdgeError) {
      rejectStream(stream, client)
      return
    }
    const exchange = new Http2Exchange(this.#runtime, client, head, stream, {
      reads,
      closeSession: () => this.#session.close(),
    })
    this.#exchanges.add(exchange)
    stream.on('close', () => {
      this.#exchanges.delete(exchange)
      if (this.#exchanges.size > 0) return
      // A draining connection keeps the timeout of its final GOAWAY.
      if (this.#closing) this.#runtime.timers.set(this, this.#runtime.limits.linger)
      else if (!this.#draining) this.#runtime.timers.set(this, this.#runtime.limits.idle)
    })
    dispatch(exchange)
    exchange.resumeBody()
    // Its connection may have become HTTP/2 after all others were drained.
    if (this.#runtime.draining) this.drain()
  }

  #onClose(): void {
    this.#runtime.connections.delete(this)
    this.#runtime.timers.clear(this)
  }
}

/** Rejects a stream whose head is not a request the edge forwards. */
function rejectStream(stream: ServerHttp2Stream, error: EdgeError): void {
  const { status, body } = renderError(error, '')
  stream.respond({
    ':status': status,
    'adit-error-code': error.code,
    'content-type': 'text/plain; charset=utf-8',
    'content-length': body.length,
  })
  stream.end(body)
}
