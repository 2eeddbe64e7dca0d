import type { SocketAddresses } from '../../base/io/sockets/socket-addresses.ts'
import type { ByteCounts, ClientConnection, TlsInfo } from '../contracts/connection.ts'
import type { EdgeRuntime } from '../contracts/runtime.ts'
import type { TlsPolicy } from '../contracts/tls-policy.ts'

/** What is known of a client that speaks TLS; `info` only where it is terminated here. */
interface TlsConnection {
  readonly serverName?: string
  readonly ja4?: string
  readonly serverCertificatePem?: string | undefined
  readonly tlsPolicy: TlsPolicy | undefined
  readonly info: TlsInfo | undefined
}

/** The properties of an accepted socket, copied: events are reported after the socket has closed (decision 113). */
export class SocketConnection implements ClientConnection {
  readonly scheme: ClientConnection['scheme']
  readonly remoteAddress: string
  readonly remotePort: number
  readonly localAddress: string
  readonly localPort: number
  readonly serverName: string | undefined
  readonly ja4: string | undefined
  readonly serverCertificatePem: string | undefined
  readonly tlsPolicy: TlsPolicy | undefined
  readonly tls: TlsInfo | undefined
  readonly startedAt: number
  readonly isProxy: boolean
  readonly bytes: ByteCounts
  countedBy: ClientConnection['countedBy'] = undefined

  constructor(
    addresses: SocketAddresses,
    scheme: ClientConnection['scheme'],
    { trustedProxies, clock }: Pick<EdgeRuntime, 'trustedProxies' | 'clock'>,
    bytes: ByteCounts,
    tls?: TlsConnection,
    startedAt = clock.now(),
  ) {
    this.scheme = scheme
    this.startedAt = startedAt
    this.remoteAddress = addresses.remoteAddress
    this.remotePort = addresses.remotePort
    this.localAddress = addresses.localAddress
    this.localPort = addresses.localPort
    this.bytes = bytes
    this.serverName = tls?.serverName
    this.ja4 = tls?.ja4
    this.serverCertificatePem = tls?.serverCertificatePem
    this.tlsPolicy = tls?.tlsPolicy
    this.tls = tls?.info
    this.isProxy = !addresses.isProxyItself && trustedProxies?.isTrusted(addresses.remoteAddress) === true
  }
}
