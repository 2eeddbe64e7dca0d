import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { createServer, type SecureContext, type Server, type TLSSocket } from 'node:tls'
import { readAddresses } from '../base/io/sockets/socket-addresses.ts'
import type { Logger } from '../base/process/log.ts'
import { joinHostPort } from '../base/values/hostport.ts'

/**
 * Connections that have not introduced themselves as peers. Anyone who reaches the port can open them, on one machine from
 * the address that the workers have too, so a new one replaces the oldest instead of being rejected: a peer needs a moment.
 */
const MAX_UNKNOWN = 256

/** How long closing sockets may take to flush. */
const CLOSE_TIMEOUT_MS = 1000

/** What a listener for peers needs. */
export interface PeerListenerOptions {
  readonly listen: { readonly host: string; readonly port: number }
  readonly secureContext: () => SecureContext
  readonly handshakeTimeoutMs: number
  /** Calls `onPeer` when the connection has introduced itself. */
  readonly onConnection: (socket: TLSSocket, onPeer: () => void) => void
  readonly log: Logger
}

/** Accepts the links of peers, over TLS. */
export class PeerListener {
  readonly #options: PeerListenerOptions
  readonly #server: Server
  readonly #sockets = new Set<TLSSocket>()
  /** All incoming sockets, including those before or without a TLS handshake. */
  readonly #rawSockets = new Set<Socket>()
  /** Those that are not known as peers yet by where they come from, oldest first. */
  readonly #unknown = new Map<string, Socket>()

  constructor(options: PeerListenerOptions) {
    this.#options = options
    const { log } = options
    this.#server = createServer({
      SNICallback: (_name, callback) => callback(null, options.secureContext()),
      minVersion: 'TLSv1.3',
      handshakeTimeout: options.handshakeTimeoutMs,
    })
    this.#server.on('connection', (raw) => {
      const source = sourceOf(raw)
      if (this.#unknown.size >= MAX_UNKNOWN) this.#unknown.values().next().value?.destroy()
      raw.setNoDelay(true)
      this.#rawSockets.add(raw)
      this.#unknown.set(source, raw)
      raw.once('close', () => {
        this.#rawSockets.delete(raw)
        if (this.#unknown.get(source) === raw) this.#unknown.delete(source)
      })
    })
    this.#server.on('secureConnection', (socket) => {
      const source = sourceOf(socket)
      socket.on('error', (error) => log.debug({ err: error }, 'peer connection failed'))
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
      options.onConnection(socket, () => this.#unknown.delete(source))
    })
    this.#server.on('tlsClientError', (error, socket) => {
      log.debug({ err: error }, 'peer connection failed')
      socket.destroy()
    })
  }

  /** Listens; resolves to the address it is bound to. */
  async start(): Promise<string> {
    const { host, port } = this.#options.listen
    this.#server.listen(port, host)
    await once(this.#server, 'listening')
    return joinHostPort(host, (this.#server.address() as AddressInfo).port)
  }

  /** Closes all connections after what they have written; destroys those that take too long. */
  async stop(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const socket of this.#sockets) socket.destroySoon()
    const timer = setTimeout(() => {
      for (const socket of this.#rawSockets) socket.destroy()
    }, CLOSE_TIMEOUT_MS)
    await closed
    clearTimeout(timer)
  }
}

/** Where a connection comes from, the same for its TLS. A connection that is closed already has no such place, nor a use. */
function sourceOf(socket: Socket): string {
  const addresses = readAddresses(socket)
  return addresses === undefined ? '' : joinHostPort(addresses.remoteAddress, addresses.remotePort)
}
