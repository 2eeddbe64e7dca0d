import { createServer, type Server, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { TimerEntry } from '../../base/io/memory/timer-wheel.ts'
import { ConcurrencyLimiter, type ConcurrencyLimits } from '../../base/io/sockets/concurrency-limiter.ts'
import type { ProxyProtocolReader } from '../../base/io/sockets/proxy-protocol-reader.ts'
import type { SocketAddresses } from '../../base/io/sockets/socket-addresses.ts'
import { resetSocket } from '../../base/io/streams/reset.ts'
import type { TlsInfo } from '../contracts/connection.ts'
import type { EdgeRuntime, LiveConnection } from '../contracts/runtime.ts'
import type { HttpHost, TcpHost } from '../contracts/table.ts'
import type { TlsPolicy } from '../contracts/tls-policy.ts'
import { Http1ServerConnection } from '../http/http1-connection.ts'
import { Http2ServerConnection } from '../http/http2-connection.ts'
import { acceptClient } from './accept-client.ts'
import { ClientHelloParser, UNRECOGNIZED_NAME } from './client-hello.ts'
import { ForwardChain } from './forward-chain.ts'
import { SocketConnection } from './socket-connection.ts'
import { rejectionOf, TcpProxyConnection } from './tcp-proxy.ts'
import { type CertificateLookup, type OnSecure, type SharedTickets, TlsTerminator } from './tls-terminator.ts'

/** Options of the TLS listener. */
export interface TlsListenerOptions {
  readonly certificates: CertificateLookup
  readonly tickets: SharedTickets | undefined
  /** For names without a host but with a certificate, so that the client gets an error page (decision 45). */
  readonly defaultTlsPolicy: TlsPolicy
  readonly handshakeTimeout: number
  readonly connectionLimits: ConcurrencyLimits
  readonly proxyProtocol?: ProxyProtocolReader | undefined
  readonly bindingIngress?: BindingIngress | undefined
}

/** The platform's own name at which Kubernetes clusters connect to the endpoints that are bound to them. */
export interface BindingIngress {
  readonly host: string
  /** Requires client certificates, which `accept` compares with those of operators. */
  readonly tlsPolicy: TlsPolicy
  accept(client: ClusterClient): void
}

/** A connection of a cluster, after its handshake. */
export interface ClusterClient {
  readonly socket: TLSSocket
  readonly transport: Socket
  readonly addresses: SocketAddresses
  readonly startedAt: number
  readonly info: TlsInfo
  /** Terminates the TLS that a client in the cluster speaks inside that of its cluster. */
  terminate(tlsPolicy: TlsPolicy, onSecure: OnSecure): void
}

/**
 * The share of a listener's connections that one client address may have in handshake. Handshakes cost the most and prove
 * nothing yet (P22, decision 117); the share is large enough for a load balancer.
 */
const MAX_HANDSHAKE_SHARE = 1 / 8

const HTTPS_ONLY_TEXT = 'This port speaks HTTPS: open the address with https:// instead of http://.\n'
/** For a client that speaks HTTP without TLS. */
const HTTPS_ONLY = [
  'HTTP/1.1 400 Bad Request',
  'Content-Type: text/plain; charset=utf-8',
  `Content-Length: ${HTTPS_ONLY_TEXT.length}`,
  'Connection: close',
  '',
  HTTPS_ONLY_TEXT,
].join('\r\n')

/** Creates the HTTPS and TLS listener, which routes each connection by its ClientHello. */
export function createTlsListener(runtime: EdgeRuntime, options: TlsListenerOptions): Server {
  const terminators = new WeakMap<TlsPolicy, TlsTerminator>()
  const terminatorFor = (tlsPolicy: TlsPolicy): TlsTerminator => {
    const existing = terminators.get(tlsPolicy)
    if (existing !== undefined) return existing
    const terminator = new TlsTerminator(tlsPolicy, options)
    terminators.set(tlsPolicy, terminator)
    return terminator
  }
  const { total, isShared } = options.connectionLimits
  const limiter = new ConcurrencyLimiter(options.connectionLimits)
  const handshakes = new ConcurrencyLimiter({
    total,
    perHolder: Math.ceil(total * MAX_HANDSHAKE_SHARE),
    isShared,
  })
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
    acceptClient(socket, limiter, options.proxyProtocol, (addresses) => {
      const releaseHandshake = handshakes.acquireForClient(addresses.remoteAddress)
      if (releaseHandshake === undefined) {
        socket.destroy()
        return
      }
      new PendingTlsConnection(runtime, socket, addresses, releaseHandshake, options, terminatorFor)
      socket.resume()
    }),
  )
  server.maxConnections = options.connectionLimits.total
  return server
}

/** A connection from its first byte to the end of its handshake, or until it is proxied without termination. */
class PendingTlsConnection extends TimerEntry implements LiveConnection {
  readonly #runtime: EdgeRuntime
  readonly #socket: Socket
  readonly #addresses: SocketAddresses
  readonly #releaseHandshake: () => void
  readonly #options: TlsListenerOptions
  readonly #terminatorFor: (tlsPolicy: TlsPolicy) => TlsTerminator
  readonly #helloParser = new ClientHelloParser()
  readonly #startedAt: number
  /** Shown to the client, if TLS is terminated here. */
  #certificatePem: string | undefined

  constructor(
    runtime: EdgeRuntime,
    socket: Socket,
    addresses: SocketAddresses,
    releaseHandshake: () => void,
    options: TlsListenerOptions,
    terminatorFor: (tlsPolicy: TlsPolicy) => TlsTerminator,
  ) {
    super()
    this.#runtime = runtime
    this.#socket = socket
    this.#addresses = addresses
    this.#releaseHandshake = releaseHandshake
    this.#options = options
    this.#terminatorFor = terminatorFor
    this.#startedAt = runtime.clock.now()
    runtime.connections.add(this)
    runtime.timers.set(this, runtime.limits.handshake)
    socket.on('data', this.#onData)
    socket.on('error', () => {})
    socket.on('end', this.destroy)
    socket.on('close', () => this.#release())
  }

  drain(): void {}

  readonly destroy = (): void => {
    this.#socket.destroy()
  }

  revalidate(): void {}

  onDeadline(): void {
    this.#socket.destroy()
  }

  readonly #onData = (chunk: Buffer): void => {
    const result = this.#helloParser.push(chunk)
    if (result === 'more') return
    this.#socket.pause()
    this.#socket.off('data', this.#onData)
    if (result === 'bad') this.#reject()
    else {
      this.#route(this.#helloParser.serverName).catch((error) => {
        this.#runtime.log.error({ err: error }, 'TLS connection failed with an internal error')
        this.#socket.destroy()
      })
    }
  }

  async #route(serverName: string): Promise<void> {
    const runtime = this.#runtime
    const { bindingIngress } = this.#options
    if (serverName === bindingIngress?.host) {
      await this.#startBinding(serverName, bindingIngress)
      return
    }
    const host = runtime.table.tls(serverName)
    if (host?.kind === 'tcp') {
      await this.#startTcpProxy(serverName, host)
      return
    }
    const tlsPolicy = host?.tlsPolicy ?? this.#options.defaultTlsPolicy
    await this.#findCertificate(tlsPolicy, serverName)
    if (this.#certificatePem === undefined) {
      this.#reject()
      return
    }
    this.#terminate(tlsPolicy, (socket, info) => this.#startHttp(serverName, tlsPolicy, socket, info, host))
  }

  async #findCertificate({ settings }: TlsPolicy, serverName: string): Promise<void> {
    const certificate = settings.certificate ?? (await this.#options.certificates(serverName))
    this.#certificatePem = certificate?.certificatePem
  }

  async #startBinding(serverName: string, { tlsPolicy, accept }: BindingIngress): Promise<void> {
    await this.#findCertificate(tlsPolicy, serverName)
    if (this.#certificatePem === undefined) {
      this.#reject()
      return
    }
    this.#terminate(tlsPolicy, (socket, info) =>
      accept({
        socket,
        transport: this.#socket,
        addresses: this.#addresses,
        startedAt: this.#startedAt,
        info,
        terminate: (inner, onSecure) => this.#terminatorFor(inner).accept(socket, onSecure),
      }),
    )
  }

  async #startTcpProxy(serverName: string, host: TcpHost): Promise<void> {
    const runtime = this.#runtime
    const transport = this.#socket
    const tcpConnection = this.#createConnection('tls', transport, {
      serverName,
      tlsPolicy: host.tlsPolicy,
      info: undefined,
    })
    const chain = new ForwardChain(runtime, host, true)
    if (rejectionOf(runtime, tcpConnection, chain) !== undefined) {
      resetSocket(transport)
      return
    }
    const options = {
      runtime,
      transport,
      chain,
      currentHost: () => findTcpHost(runtime, serverName),
    } as const
    const { tlsPolicy } = chain.last
    if (tlsPolicy === undefined) {
      this.#release()
      transport.off('end', this.destroy)
      const initialBytes = this.#helloParser.bytes
      TcpProxyConnection.start({
        ...options,
        socket: transport,
        connection: tcpConnection,
        initialBytes,
      })
      transport.resume()
      return
    }
    await this.#findCertificate(tlsPolicy, serverName)
    this.#terminate(tlsPolicy, (socket, info) => {
      const connection = this.#createConnection('tls', socket, { serverName, tlsPolicy, info })
      chain.passthroughTls = false
      if (rejectionOf(runtime, connection, chain, 'securedConnectionSteps') !== undefined) {
        resetSocket(transport, socket)
        return
      }
      TcpProxyConnection.start({
        ...options,
        socket,
        connection,
        initialBytes: undefined,
      })
    })
  }

  #startHttp(
    serverName: string,
    tlsPolicy: TlsPolicy,
    socket: TLSSocket,
    info: TlsInfo,
    host: HttpHost | undefined,
  ): void {
    const connection = this.#createConnection('https', socket, {
      serverName,
      // A name without a host has no policy to compare with.
      tlsPolicy: host === undefined ? this.#options.defaultTlsPolicy : tlsPolicy,
      info,
    })
    if (info.alpn === 'h2') new Http2ServerConnection(this.#runtime, socket, this.#socket, connection)
    else new Http1ServerConnection(this.#runtime, socket, this.#socket, connection)
  }

  #createConnection(
    scheme: 'https' | 'tls',
    socket: Socket,
    tls: { serverName: string; tlsPolicy: TlsPolicy | undefined; info: TlsInfo | undefined },
  ): SocketConnection {
    const { fingerprint: ja4 } = this.#helloParser
    const serverCertificatePem = tls.info && this.#certificatePem
    const details = { ...tls, ja4, serverCertificatePem }
    return new SocketConnection(this.#addresses, scheme, this.#runtime, socket, details, this.#startedAt)
  }

  #terminate(tlsPolicy: TlsPolicy, onSecure: OnSecure): void {
    const socket = this.#socket
    if (socket.destroyed) return
    socket.off('end', this.destroy)
    socket.unshift(this.#helloParser.bytes)
    this.#terminatorFor(tlsPolicy).accept(socket, (tlsSocket, info) => {
      this.#release()
      onSecure(tlsSocket, info)
    })
  }

  #reject(): void {
    this.#socket.end(this.#helloParser.isHttp ? HTTPS_ONLY : UNRECOGNIZED_NAME)
    this.#socket.resume()
  }

  #release(): void {
    this.#releaseHandshake()
    this.#runtime.connections.delete(this)
    this.#runtime.timers.clear(this)
  }
}

function findTcpHost(runtime: EdgeRuntime, serverName: string): TcpHost | undefined {
  const host = runtime.table.tls(serverName)
  return host?.kind === 'tcp' ? host : undefined
}
