import type { ByteStream } from '../../base/io/streams/stream.ts'
import type { UpstreamTarget } from '../contracts/backend.ts'
import type { Exchange } from '../contracts/exchange.ts'
import type { EdgeRuntime } from '../contracts/runtime.ts'
import { type ClientInfo, clientInfoOf, TunnelBusy } from '../contracts/tunnels.ts'
import type { Upstream } from '../contracts/upstream.ts'
import { edgeError } from '../errors.ts'
import { Http1Upstream } from './http1.ts'
import { Http2UpstreamConnection } from './http2.ts'

/** Max idle connections of one agent session, well below its stream limit of 500 (decisions 33 and 47). */
const MAX_IDLE_CONNECTIONS = 200

/** Counts the idle connections of one agent session over all its tunnels, since each holds a stream. */
export interface IdleBudget {
  idle: number
}

/**
 * Pools the connections to one target, last in first out. They are never shared with another target, nor between clients
 * with different certificates (P30), nor at all when the PROXY protocol announces each client's address.
 */
export class UpstreamPool {
  readonly runtime: EdgeRuntime
  readonly #via: ClientInfo['via']
  readonly #proto: 'http' | 'https'
  readonly #budget: IdleBudget
  readonly #shared: boolean
  readonly #http2: boolean
  readonly #idle = new Map<string, Http1Upstream[]>()
  readonly #http2Connections = new Map<string, Http2UpstreamConnection>()

  constructor(
    runtime: EdgeRuntime,
    options: {
      via: ClientInfo['via']
      proto: 'http' | 'https'
      budget: IdleBudget
      /** False when a connection serves one client only. */
      shared: boolean
      /** The upstream requires HTTP/2 with prior knowledge. */
      http2: boolean
    },
  ) {
    this.runtime = runtime
    this.#via = options.via
    this.#proto = options.proto
    this.#budget = options.budget
    this.#shared = options.shared
    this.#http2 = options.http2
  }

  /** Sends the request of this exchange on a pooled connection, or on a new one. */
  connect(exchange: Exchange, target: UpstreamTarget, fresh: boolean): Upstream {
    const identity = exchange.connection.tls?.peer?.fingerprint ?? ''
    if (this.#http2) return this.#http2Connection(exchange, target, identity, fresh).start(exchange, target)
    const idle = fresh ? undefined : this.#takeIdle(identity, exchange)
    if (idle !== undefined) {
      idle.start(exchange)
      return idle
    }
    const upstream = new Http1Upstream(this, target, identity, this.#openStream(exchange, target))
    upstream.start(exchange)
    return upstream
  }

  /** Pools a connection for the next request; false when the caller must close it. */
  addIdle(upstream: Http1Upstream): boolean {
    if (!this.#shared || this.runtime.draining || this.#budget.idle >= MAX_IDLE_CONNECTIONS) return false
    const list = this.#idle.get(upstream.identity)
    if (list === undefined) this.#idle.set(upstream.identity, [upstream])
    else list.push(upstream)
    this.#budget.idle++
    this.runtime.idleUpstreams.add(upstream)
    return true
  }

  /** Removes a pooled connection that has closed. */
  removeIdle(upstream: Http1Upstream): void {
    const list = this.#idle.get(upstream.identity)
    const index = list?.lastIndexOf(upstream) ?? -1
    if (list === undefined || index === -1) return
    list.splice(index, 1)
    if (list.length === 0) this.#idle.delete(upstream.identity)
    this.#budget.idle--
    this.runtime.idleUpstreams.delete(upstream)
  }

  #takeIdle(identity: string, exchange: Exchange): Http1Upstream | undefined {
    const list = this.#idle.get(identity)
    let upstream = list?.at(-1)
    while (upstream?.isOutdated === true) {
      upstream.close()
      upstream = list?.at(-1)
    }
    if (list === undefined || upstream === undefined || !upstream.canSend(exchange)) return undefined
    list.pop()
    if (identity !== '' && list.length === 0) this.#idle.delete(identity)
    this.#budget.idle--
    this.runtime.idleUpstreams.delete(upstream)
    return upstream
  }

  #http2Connection(
    exchange: Exchange,
    target: UpstreamTarget,
    identity: string,
    fresh: boolean,
  ): Http2UpstreamConnection {
    if (exchange.upgrading) {
      throw edgeError('bad_request', 'WebSocket cannot be forwarded to an HTTP/2 upstream')
    }
    const existing = this.#shared && !fresh ? this.#http2Connections.get(identity) : undefined
    if (existing?.isUsable(target) === true) return existing
    existing?.retire()
    const stream = this.#openStream(exchange, target)
    const connection = new Http2UpstreamConnection(this.runtime, target, stream, () => {
      if (this.#http2Connections.get(identity) === connection) this.#http2Connections.delete(identity)
    })
    if (this.#shared) this.#http2Connections.set(identity, connection)
    return connection
  }

  #openStream(exchange: Exchange, target: UpstreamTarget): ByteStream {
    try {
      return target.open(clientInfoOf(exchange.connection, this.#proto, this.#via, false))
    } catch (error) {
      if (error instanceof TunnelBusy) throw error
      // The session ended after the look-up.
      throw edgeError('agent_offline', exchange.head.host)
    }
  }
}
