import type { PodSource } from '../../policy/index.ts'
import type { TlsPolicy } from './tls-policy.ts'

/** A client certificate, verified against the authorities of the connection's TLS policy. */
export interface PeerCertificate {
  readonly commonName: string
  readonly dnsNames: readonly string[]
  readonly emailAddresses: readonly string[]
  readonly serialNumber: string
  /** SHA-256 of the certificate; upstream connections of different clients are pooled apart by it (P30). */
  readonly fingerprint: string
  readonly der: Buffer
}

/** What the TLS handshake of a client negotiated. */
export interface TlsInfo {
  readonly version: string
  readonly cipher: string
  /** The protocol negotiated by ALPN, if any. */
  readonly alpn: string | undefined
  readonly peer: PeerCertificate | undefined
}

/** How much a socket has received and sent, without what TLS adds. */
export interface ByteCounts {
  readonly bytesRead: number
  readonly bytesWritten: number
}

/** A service in the Kubernetes cluster of an operator, and the endpoint that serves it. */
export interface ClusterService {
  readonly operatorId: string
  readonly proto: 'http' | 'tls' | 'tcp'
  readonly host: string
  readonly port: number
}

/** The properties of a client connection; the same for TCP, TLS and HTTP. */
export interface ClientConnection {
  readonly scheme: 'http' | 'https' | 'tls' | 'tcp'
  /**
   * The client's address: the peer's, or the one that a trusted proxy names in its PROXY protocol header or in the
   * forwarding fields of a request (decision 169). IPv4 in its plain form.
   */
  readonly remoteAddress: string
  /** 0 when a proxy does not name it. */
  readonly remotePort: number
  readonly localAddress: string
  readonly localPort: number
  /** The server name in the ClientHello. */
  readonly serverName: string | undefined
  /** The JA4 fingerprint of the ClientHello; absent where TLS was terminated elsewhere. */
  readonly ja4?: string | undefined
  /** The certificate that was shown to the client, with its chain; absent where TLS is not terminated here. */
  readonly serverCertificatePem?: string | undefined
  /** The TLS policy of the handshake; undefined for plain connections. */
  readonly tlsPolicy: TlsPolicy | undefined
  readonly tls: TlsInfo | undefined
  readonly startedAt: number
  /** What has passed so far; absent where that is not counted. */
  readonly bytes?: ByteCounts | undefined
  /** The peer is a trusted proxy: the forwarding fields of each request name its client. */
  readonly isProxy?: boolean
  /** A trusted proxy terminated the client's TLS, so that the connection itself has no policy. */
  readonly tlsAtProxy?: boolean
  /** The service that a client in a Kubernetes cluster connected to, whatever host its requests name. */
  readonly service?: ClusterService | undefined
  /** The pod of that client. */
  readonly pod?: PodSource | undefined
  /** The traffic that has counted the client by its country: the last one, where requests are for several accounts. */
  countedBy?: object | undefined
}
