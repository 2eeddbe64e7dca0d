import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { createServer, type SecureContext, type Server, type TLSSocket } from 'node:tls'
import { joinHostPort } from '../base/hostport.ts'
import { Admission } from '../base/io/admission.ts'
import type { Logger } from '../base/log.ts'

/** Incoming links, authenticated or not: far more than there are nodes. */
const MAX_LINKS = 256

/** How long closing sockets may take to flush. */
const CLOSE_TIMEOUT_MS = 1000

/** What a listener for peers needs. */
export interface PeerListenerOptions {
  readonly listen: { readonly host: string; readonly port: number }
  readonly secureContext: () => SecureContext
  readonly handshakeTimeoutMs: number
  readonly onConnection: (socket: TLSSocket) => void
  readonly log: Logger
}

/** Accepts the links of peers, over TLS. */
export class PeerListener {
  readonly #options: PeerListenerOptions
  readonly #server: Server
  readonly #sockets = new Set<TLSSocket>()
  /** All incoming sockets, including those before or without a TLS handshake. */
  readonly #rawSockets = new Set<Socket>()

  constructor(options: PeerListenerOptions) {
    this.#options = options
    const { log } = options
    this.#server = createServer({
      SNICallback: (_name, callback) => callback(null, options.secureContext()),
      minVersion: 'TLSv1.3',
      handshakeTimeout: options.handshakeTimeoutMs,
    })
    const admission = new Admission({ total: MAX_LINKS })
    this.#server.on('connection', (raw) => {
      if (!admission.admit(raw)) return
      raw.setNoDelay(true)
      this.#rawSockets.add(raw)
      raw.once('close', () => this.#rawSockets.delete(raw))
    })
    this.#server.on('secureConnection', (socket) => {
      socket.on('error', (error) => log.debug({ err: error }, 'peer connection failed'))
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
      options.onConnection(socket)
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
