import type { TlsPolicy } from './listeners/tls-policy.ts'

/** A client certificate that was checked against the authorities of the policy the connection was made under. */
export interface PeerCertificate {
  readonly commonName: string
  readonly dnsNames: readonly string[]
  readonly emailAddresses: readonly string[]
  readonly serialNumber: string
  /** SHA-256 of the certificate: what keeps upstream connections of different clients apart. */
  readonly fingerprint: string
}

/** What is known of a visitor's TLS once the handshake is done. */
export interface TlsInfo {
  readonly version: string
  readonly cipher: string
  /** The protocol agreed on by ALPN, if any. */
  readonly alpn: string | undefined
  readonly peer: PeerCertificate | undefined
}

/** What is known of a visitor's connection; the same for TCP, TLS and HTTP. */
export interface Connection {
  readonly scheme: 'http' | 'https' | 'tls' | 'tcp'
  /** The peer's address as the transport knows it, never from a header; IPv4 in its plain form. */
  readonly remoteAddress: string
  readonly remotePort: number
  readonly localAddress: string
  readonly localPort: number
  /** The name the visitor asked for in its ClientHello. */
  readonly serverName: string | undefined
  /** The policy the handshake was made under; undefined for plain connections. */
  readonly policy: TlsPolicy | undefined
  readonly tls: TlsInfo | undefined
  readonly startedAt: number
}
