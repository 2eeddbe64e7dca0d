import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { stopListening } from '../../base/io/sockets/accept-pending.ts'
import { ConcurrencyLimiter } from '../../base/io/sockets/concurrency-limiter.ts'
import { type Listen, listen as openListener } from '../../base/io/sockets/listeners.ts'
import type { ProxyProtocolReader } from '../../base/io/sockets/proxy-protocol-reader.ts'
import { readAddresses, type SocketAddresses } from '../../base/io/sockets/socket-addresses.ts'
import { fanOut } from '../../base/limits/fan-out.ts'
import type { Logger } from '../../base/process/log.ts'

/** The listener for agents or SSH clients. */
export interface Gateway {
  listen(port: number, host: string): Promise<AddressInfo>
  /** Open connections, authenticated or not. */
  readonly connections: number
  /** What all processes at the port count together, by a name that is the same at each. */
  readonly sharedCounts: Readonly<Record<string, ConcurrencyLimiter>>
  /** Counts a failed login at another process as one here. */
  recordAuthFailure(ip: string): void
  /** Stops listening and ends every session with the reason. */
  close(): Promise<void>
}

/** What both gateways are given. */
export interface GatewayOptions {
  /** Slots for authenticated sessions by account, shared by the gateways. */
  sessions: ConcurrencyLimiter
  /** Addresses shared by many clients, such as a load balancer's. */
  isShared?: ((ip: string) => boolean) | undefined
  /** Set when connections begin with a PROXY protocol header. */
  proxyProtocol?: ProxyProtocolReader | undefined
  /** Other processes listen on the same port; the kernel spreads connections over them. */
  reusePort?: boolean
  listen?: Listen
  /** Tells other processes of a failed login. */
  reportAuthFailure?: ((ip: string) => void) | undefined
  log: Logger
}

export interface UnauthenticatedLimits {
  unauthenticatedPerClient: number
  unauthenticated: number
}

/** Accepts the connections of a gateway, limits those that have not authenticated yet, and ends all of them on close. */
export class GatewayListener<C extends { end(reason: string): void }> {
  readonly connections = new Set<C>()
  readonly #options: GatewayOptions & { name: string }
  /** Connections that have not authenticated yet. */
  readonly unauthenticated: ConcurrencyLimiter
  readonly #server = createServer({ noDelay: true }, (socket) => this.accept(socket))
  readonly #onClient: (socket: Socket, addresses: SocketAddresses) => void

  constructor(
    options: GatewayOptions & { name: string },
    limits: UnauthenticatedLimits,
    onClient: (socket: Socket, addresses: SocketAddresses) => void,
  ) {
    this.#options = options
    this.unauthenticated = new ConcurrencyLimiter({
      total: limits.unauthenticated,
      perHolder: limits.unauthenticatedPerClient,
      isShared: options.isShared,
    })
    this.#onClient = onClient
    this.#server.on('error', (err) => this.#logError(err, 'gateway listener failed'))
  }

  async listen(port: number, host: string): Promise<AddressInfo> {
    const { name, reusePort = false, listen = openListener } = this.#options
    return listen(this.#server, name, { port, host, reusePort })
  }

  /** Admits a client that has not authenticated yet; undefined when too many are connected. Call the result afterwards. */
  acquire(ip: string): (() => void) | undefined {
    return this.unauthenticated.acquireForClient(ip)
  }

  /** Calls `visit` with every connection; one that throws does not keep it from the others. */
  visitAll(visit: (connection: C) => void): void {
    fanOut([...this.connections], visit, (err) => this.#logError(err, 'gateway connection failed'))
  }

  /** `endPending` ends what is no connection yet. */
  async close(endPending: () => void = () => {}): Promise<void> {
    const closed = this.#server.listening ? once(this.#server, 'close') : undefined
    await stopListening(this.#server)
    this.#options.proxyProtocol?.close()
    endPending()
    this.visitAll((connection) => connection.end('The server is shutting down.'))
    await closed
  }

  /** Serves a connection of this or another listener. */
  accept(socket: Socket): void {
    const { proxyProtocol } = this.#options
    if (proxyProtocol !== undefined) {
      proxyProtocol.read(socket, (addresses) => this.#onClient(socket, addresses))
      return
    }
    const addresses = readAddresses(socket)
    if (addresses === undefined) socket.destroy()
    else this.#onClient(socket, addresses)
  }

  #logError(err: unknown, message: string): void {
    this.#options.log.error({ err, gateway: this.#options.name }, message)
  }
}
