import type { Server } from 'node:http'
import { type Duplex, duplexPair } from 'node:stream'
import type { SocketAddresses } from '../../base/io/sockets/socket-addresses.ts'

/** The host of the platform that a client of the edge came to: that of the API, of the dashboard, or the domain itself. */
export type EdgeHost = 'api' | 'dashboard' | 'domain'

/** A client of the edge: the host it came to, and the addresses of its connection. */
export interface EdgeOrigin {
  readonly host: EdgeHost
  readonly addresses: SocketAddresses
}

/**
 * Connections that the edge opens in memory. Each has the address of its client, so that limits and IP restrictions apply
 * as to a direct one. No header is involved, so no other peer can claim an address this way.
 */
export class EdgeConnections {
  readonly #server: Server
  readonly #hosts = new WeakMap<object, EdgeHost>()

  constructor(server: Server) {
    this.#server = server
  }

  open({ host, addresses }: EdgeOrigin): Duplex {
    const [edgeSide, apiSide] = duplexPair()
    // A pair passes on only the end of a side, not that it was destroyed.
    edgeSide.once('close', () => apiSide.destroy())
    apiSide.once('close', () => edgeSide.destroy())
    apiSide.on('error', () => {})
    const { remoteAddress, remotePort, localAddress, localPort } = addresses
    const connection = Object.assign(apiSide, { remoteAddress, remotePort, localAddress, localPort })
    // The edge serves its hosts over TLS alone.
    this.#hosts.set(Object.assign(connection, { encrypted: true }), host)
    this.#server.emit('connection', connection)
    return edgeSide
  }

  /** The host that the client of this connection came to; undefined for the API's own listener. */
  hostOf(connection: object): EdgeHost | undefined {
    return this.#hosts.get(connection)
  }
}
