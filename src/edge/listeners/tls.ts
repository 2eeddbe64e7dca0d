import { createServer, type Server, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { Admission, type AdmissionLimits } from '../../base/admission.ts'
import { resetSocket } from '../../base/io/reset.ts'
import type { SocketEnds } from '../../base/io/socket-ends.ts'
import { Timed } from '../../base/io/timer-wheel.ts'
import type { TlsFacts } from '../connection.ts'
import type { Core, Live } from '../core.ts'
import { Http1Visitor } from '../http/http1-connection.ts'
import { Http2Visitor } from '../http/http2-connection.ts'
import type { HttpEntry, RawEntry } from '../table.ts'
import { HelloReader, UNRECOGNIZED_NAME } from './client-hello.ts'
import { SocketConnection } from './socket-connection.ts'
import { admit, RawVisitor } from './tcp-proxy.ts'
import type { TlsPolicy } from './tls-policy.ts'
import { type CertificateLookup, type OnSecure, TlsTerminator } from './tls-terminator.ts'

/** What the TLS listener needs beside what all connections share. */
export interface TlsListenerOptions {
  readonly certificates: CertificateLookup
  /** For names that nobody serves but for which there is a certificate, so that the visitor can be told. */
  readonly defaultPolicy: TlsPolicy
  readonly handshakeTimeout: number
  readonly admission: AdmissionLimits
}

/**
 * The part of all places that one source may have in handshakes under way. They cost the most and prove nothing yet (P22);
 * large enough for a balancer that passes everybody on.
 */
const MAX_HANDSHAKE_SHARE = 1 / 8

/** The HTTPS and TLS listener, not yet listening: looks at each ClientHello and decides what becomes of it. */
export function createTlsListener(core: Core, options: TlsListenerOptions): Server {
  const terminators = new WeakMap<TlsPolicy, TlsTerminator>()
  const terminatorOf = (policy: TlsPolicy): TlsTerminator => {
    const known = terminators.get(policy)
    if (known !== undefined) return known
    const terminator = new TlsTerminator(policy, options.certificates, options.handshakeTimeout)
    terminators.set(policy, terminator)
    return terminator
  }
  const { total, isShared } = options.admission
  const admission = new Admission(options.admission)
  const handshakes = new Admission({ total, perHolder: Math.ceil(total * MAX_HANDSHAKE_SHARE), isShared })
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const ends = admission.admit(socket)
    if (ends === undefined) return
    const leave = handshakes.takeSource(ends.remoteAddress)
    if (leave === undefined) socket.destroy()
    else new Arrival(core, socket, ends, leave, options, terminatorOf)
  })
  server.maxConnections = options.admission.total
  return server
}

/** A connection from its first byte to the moment it is known whose it is. */
class Arrival extends Timed implements Live {
  readonly #core: Core
  readonly #socket: Socket
  readonly #ends: SocketEnds
  readonly #leave: () => void
  readonly #options: TlsListenerOptions
  readonly #terminatorOf: (policy: TlsPolicy) => TlsTerminator
  readonly #reader = new HelloReader()
  readonly #startedAt: number

  constructor(
    core: Core,
    socket: Socket,
    ends: SocketEnds,
    leave: () => void,
    options: TlsListenerOptions,
    terminatorOf: (policy: TlsPolicy) => TlsTerminator,
  ) {
    super()
    this.#core = core
    this.#socket = socket
    this.#ends = ends
    this.#leave = leave
    this.#options = options
    this.#terminatorOf = terminatorOf
    this.#startedAt = core.clock.now()
    core.live.add(this)
    core.deadlines.set(this, core.limits.handshake)
    socket.on('data', this.#onData)
    socket.on('error', () => {})
    socket.on('end', this.destroy)
    socket.on('close', () => this.#over())
  }

  drain(): void {}

  readonly destroy = (): void => {
    this.#socket.destroy()
  }

  recheck(): void {}

  onDeadline(): void {
    this.#socket.destroy()
  }

  readonly #onData = (chunk: Buffer): void => {
    const result = this.#reader.push(chunk)
    if (result === 'more') return
    this.#socket.pause()
    this.#socket.off('data', this.#onData)
    if (result === 'bad') this.#turnAway()
    else {
      this.#decide(this.#reader.serverName).catch((error) => {
        this.#core.log.error({ err: error }, 'a TLS connection failed inside the edge')
        this.#socket.destroy()
      })
    }
  }

  async #decide(serverName: string): Promise<void> {
    const core = this.#core
    const entry = core.table.tls(serverName)
    if (entry?.kind === 'raw') {
      this.#startRaw(serverName, entry)
      return
    }
    const policy = entry?.policy ?? this.#options.defaultPolicy
    if (policy.settings.certificate === undefined) {
      const certificate = await this.#options.certificates(serverName)
      if (certificate === undefined) {
        this.#turnAway()
        return
      }
    }
    this.#terminate(policy, (socket, facts) => this.#startHttp(serverName, policy, socket, facts, entry))
  }

  #startRaw(serverName: string, entry: RawEntry): void {
    const core = this.#core
    const transport = this.#socket
    const before = new SocketConnection(this.#ends, 'tls', this.#startedAt, {
      serverName,
      policy: entry.policy,
      facts: undefined,
    })
    if (!admit(core, before, entry)) {
      resetSocket(transport)
      return
    }
    const common = {
      core,
      transport,
      entry,
      proto: 'tls',
      current: () => currentRaw(core, serverName),
    } as const
    const { policy } = entry
    if (policy === undefined) {
      this.#over()
      transport.off('end', this.destroy)
      const first = this.#reader.bytes
      RawVisitor.start({ ...common, socket: transport, connection: before, passthroughTls: true, first })
      transport.resume()
      return
    }
    this.#terminate(policy, (socket, facts) => {
      const connection = new SocketConnection(this.#ends, 'tls', this.#startedAt, {
        serverName,
        policy,
        facts,
      })
      RawVisitor.start({ ...common, socket, connection, passthroughTls: false, first: undefined })
    })
  }

  #startHttp(
    serverName: string,
    policy: TlsPolicy,
    socket: TLSSocket,
    facts: TlsFacts,
    entry: HttpEntry | undefined,
  ): void {
    const connection = new SocketConnection(this.#ends, 'https', this.#startedAt, {
      serverName,
      // Where nobody serves the name there is nothing to disagree with.
      policy: entry === undefined ? this.#options.defaultPolicy : policy,
      facts,
    })
    if (facts.alpn === 'h2') new Http2Visitor(this.#core, socket, this.#socket, connection)
    else new Http1Visitor(this.#core, socket, this.#socket, connection)
  }

  #terminate(policy: TlsPolicy, onSecure: OnSecure): void {
    const socket = this.#socket
    if (socket.destroyed) return
    socket.off('end', this.destroy)
    socket.unshift(this.#reader.bytes)
    this.#terminatorOf(policy).accept(socket, this.#ends, (secure, facts) => {
      this.#over()
      onSecure(secure, facts)
    })
  }

  #turnAway(): void {
    this.#socket.end(UNRECOGNIZED_NAME)
    this.#socket.resume()
  }

  #over(): void {
    this.#leave()
    this.#core.live.delete(this)
    this.#core.deadlines.clear(this)
  }
}

function currentRaw(core: Core, serverName: string): RawEntry | undefined {
  const entry = core.table.tls(serverName)
  return entry?.kind === 'raw' ? entry : undefined
}
