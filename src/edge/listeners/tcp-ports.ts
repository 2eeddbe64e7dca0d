import { createServer, type Server, type Socket } from 'node:net'
import { ConcurrencyLimiter, type ConcurrencyLimits } from '../../base/io/sockets/concurrency-limiter.ts'
import { type Listen, listen as openListener } from '../../base/io/sockets/listeners.ts'
import type { ProxyProtocolReader } from '../../base/io/sockets/proxy-protocol-reader.ts'
import { requireFreePort } from '../../base/io/sockets/require-free-port.ts'
import type { SocketAddresses } from '../../base/io/sockets/socket-addresses.ts'
import { resetSocket } from '../../base/io/streams/reset.ts'
import type { EdgeRuntime } from '../contracts/runtime.ts'
import type { PublicPorts } from '../contracts/tunnels.ts'
import { acceptClient } from './accept-client.ts'
import { ForwardChain } from './forward-chain.ts'
import { SocketConnection } from './socket-connection.ts'
import { rejectionOf, TcpProxyConnection } from './tcp-proxy.ts'

export interface PortRange {
  readonly host: string
  readonly first: number
  readonly last: number
  /** Other processes may listen on the same ports. */
  readonly reusePort?: boolean
  readonly listen?: Listen
}

/** How long a released port is reassigned only on request by number: clients of the old tunnel still use it. */
const REUSE_DELAY_MS = 10 * 60_000

/** The public TCP ports: each has a listener while a tunnel or edge is bound to it. */
export class TcpPorts implements PublicPorts {
  readonly #runtime: EdgeRuntime
  readonly #range: PortRange
  readonly #servers = new Map<number, Server>()
  /** Released ports with the monotonic time of their release, oldest first. */
  readonly #releasedAt = new Map<number, number>()
  /** All ports together share the connection limit of one listener (decision 101). */
  readonly #limiter: ConcurrencyLimiter
  readonly #proxyProtocol: ProxyProtocolReader | undefined
  #nextPort: number

  constructor(
    runtime: EdgeRuntime,
    range: PortRange,
    limits: ConcurrencyLimits,
    proxyProtocol?: ProxyProtocolReader,
  ) {
    this.#runtime = runtime
    this.#range = range
    this.#limiter = new ConcurrencyLimiter(limits)
    this.#proxyProtocol = proxyProtocol
    this.#nextPort = range.first + Math.floor(Math.random() * (range.last - range.first + 1))
  }

  async acquire(port?: number, excluded: ReadonlySet<number> = new Set()): Promise<number> {
    if (port !== undefined) {
      if (port < this.#range.first || port > this.#range.last) {
        throw new Error(
          `Port ${port} is not among the public ports ${this.#range.first}-${this.#range.last}.`,
        )
      }
      await this.#listen(port)
      return port
    }
    for (const candidate of this.#candidates()) {
      if (excluded.has(candidate)) continue
      try {
        // Where ports are shared, another server of the same user would share this one too.
        if (this.#range.reusePort) await requireFreePort({ host: this.#range.host, port: candidate })
        await this.#listen(candidate)
        return candidate
      } catch {
        // Another process on this machine has the port.
      }
    }
    throw new Error(`All public ports ${this.#range.first}-${this.#range.last} are taken.`)
  }

  release(port: number): void {
    const server = this.#servers.get(port)
    if (server === undefined) return
    this.#servers.delete(port)
    this.#releasedAt.delete(port)
    this.#releasedAt.set(port, this.#runtime.clock.monotonic())
    server.close()
  }

  /** The listeners of all ports that are open. */
  get servers(): Server[] {
    return [...this.#servers.values()]
  }

  /** Stops accepting on all ports. */
  close(): void {
    for (const port of [...this.#servers.keys()]) this.release(port)
  }

  /** Free ports round robin, recently released ones last and oldest first. */
  *#candidates(): Generator<number> {
    const { first, last } = this.#range
    const now = this.#runtime.clock.monotonic()
    for (const [port, releasedAt] of this.#releasedAt)
      if (now - releasedAt > REUSE_DELAY_MS) this.#releasedAt.delete(port)
    for (let n = last - first; n >= 0; n--) {
      const port = this.#nextPort
      this.#nextPort = port === last ? first : port + 1
      if (!this.#servers.has(port) && !this.#releasedAt.has(port)) yield port
    }
    yield* [...this.#releasedAt.keys()].filter((port) => !this.#servers.has(port))
  }

  async #listen(port: number): Promise<void> {
    if (this.#servers.has(port)) throw new Error(`Port ${port} is taken.`)
    const server = createServer({ allowHalfOpen: true, noDelay: true, keepAlive: true, pauseOnConnect: true })
    // Reserved before the listener is up, so that concurrent calls cannot acquire the same port.
    this.#servers.set(port, server)
    this.#releasedAt.delete(port)
    server.on('connection', (socket) => {
      socket.on('error', () => {})
      acceptClient(socket, this.#limiter, this.#proxyProtocol, (addresses) =>
        this.#start(port, socket, addresses),
      )
    })
    try {
      const { host, reusePort = false, listen = openListener } = this.#range
      await listen(server, 'tcp', { port, host, reusePort })
    } catch (error) {
      this.#servers.delete(port)
      throw error
    }
  }

  #start(port: number, socket: Socket, addresses: SocketAddresses): void {
    const runtime = this.#runtime
    const host = runtime.table.tcp(port)
    const connection = new SocketConnection(addresses, 'tcp', runtime, socket)
    const chain = host && new ForwardChain(runtime, host, false)
    if (chain === undefined || rejectionOf(runtime, connection, chain) !== undefined) {
      resetSocket(socket)
      return
    }
    TcpProxyConnection.start({
      runtime,
      socket,
      transport: socket,
      connection,
      chain,
      initialBytes: undefined,
      currentHost: () => runtime.table.tcp(port),
    })
    socket.resume()
  }
}
