import { findClient, type TrustedProxies } from '../base/http/forwarded.ts'
import type { ClientConnection } from './contracts/connection.ts'
import { type EdgeError, edgeError } from './errors.ts'
import type { RequestHead } from './message/request-head.ts'

/**
 * The connection of a request as its client made it. Behind a trusted proxy, address and scheme are those that the
 * forwarding fields name; otherwise it is the connection itself.
 */
export function resolveClient(
  connection: ClientConnection,
  { framing }: RequestHead,
  proxies: TrustedProxies | undefined,
): ClientConnection | EdgeError {
  const fields = framing.forwardingFields
  if (connection.isProxy !== true || fields === undefined || proxies === undefined) return connection
  const client = findClient(connection.remoteAddress, fields, proxies)
  if (client === undefined)
    return edgeError('bad_request', 'a proxy on its way sent forwarding fields that cannot be read')
  const { address, port, scheme = connection.scheme } = client
  return scheme === connection.scheme
    ? new ForwardedConnection(connection, address, port, connection)
    : // The TLS of the proxy says nothing of the client's.
      new ForwardedConnection(connection, address, port, {
        scheme,
        tlsPolicy: undefined,
        tls: undefined,
        tlsAtProxy: scheme === 'https',
      })
}

class ForwardedConnection implements ClientConnection {
  readonly scheme: ClientConnection['scheme']
  readonly remoteAddress: string
  readonly remotePort: number
  readonly localAddress: string
  readonly localPort: number
  readonly serverName: ClientConnection['serverName']
  readonly tlsPolicy: ClientConnection['tlsPolicy']
  readonly tls: ClientConnection['tls']
  readonly startedAt: number
  readonly bytes: ClientConnection['bytes']
  readonly tlsAtProxy: boolean
  countedBy: ClientConnection['countedBy'] = undefined

  constructor(
    proxy: ClientConnection,
    address: string,
    port: number,
    security: Pick<ClientConnection, 'scheme' | 'tlsPolicy' | 'tls' | 'tlsAtProxy'>,
  ) {
    this.scheme = security.scheme
    this.remoteAddress = address
    this.remotePort = port
    this.localAddress = proxy.localAddress
    this.localPort = proxy.localPort
    this.serverName = proxy.serverName
    this.tlsPolicy = security.tlsPolicy
    this.tls = security.tls
    this.startedAt = proxy.startedAt
    this.bytes = proxy.bytes
    this.tlsAtProxy = security.tlsAtProxy === true
  }
}
