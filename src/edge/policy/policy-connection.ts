import { X509Certificate } from 'node:crypto'
import type { ConnectionSource, IpData, IpFacts, PodSource, TlsSource } from '../../policy/index.ts'
import type { ClientConnection } from '../contracts/connection.ts'

/** The client connection as `conn` reads it. */
export class PolicyConnection implements ConnectionSource, TlsSource {
  readonly connection: ClientConnection
  readonly region: string
  readonly #ipData: IpData
  #certificate: X509Certificate | undefined
  /** The address that was looked up last, and what is known about it. */
  #factsAddress: string | undefined
  #facts: IpFacts | undefined
  #serverCertificate: X509Certificate | undefined

  constructor(connection: ClientConnection, ipData: IpData, region = '') {
    this.connection = connection
    this.#ipData = ipData
    this.region = region
  }

  ipFacts(address: string): IpFacts | undefined {
    if (this.#factsAddress !== address) {
      this.#facts = this.#ipData.lookUp(address)
      this.#factsAddress = address
    }
    return this.#facts
  }

  get remoteAddress(): string {
    return this.connection.remoteAddress
  }

  get remotePort(): number {
    return this.connection.remotePort
  }

  get localAddress(): string {
    return this.connection.localAddress
  }

  get localPort(): number {
    return this.connection.localPort
  }

  get startedAt(): number {
    return this.connection.startedAt
  }

  get bytesIn(): number | undefined {
    return this.connection.bytes?.bytesRead
  }

  get bytesOut(): number | undefined {
    return this.connection.bytes?.bytesWritten
  }

  get pod(): PodSource | undefined {
    return this.connection.pod
  }

  get tls(): TlsSource | undefined {
    const { tls, serverName } = this.connection
    return tls === undefined && serverName === undefined ? undefined : this
  }

  get sni(): string | undefined {
    return this.connection.serverName
  }

  get version(): string | undefined {
    return this.connection.tls?.version
  }

  get cipher(): string | undefined {
    return this.connection.tls?.cipher
  }

  get alpn(): string | undefined {
    return this.connection.tls?.alpn
  }

  get ja4(): string | undefined {
    return this.connection.ja4
  }

  /** Parsed when an expression reads it; the first one of a chain. */
  get serverCertificate(): X509Certificate | undefined {
    const { serverCertificatePem: pem } = this.connection
    if (pem !== undefined) this.#serverCertificate ??= new X509Certificate(pem)
    return this.#serverCertificate
  }

  /** Parsed when an expression reads it. */
  get clientCertificate(): X509Certificate | undefined {
    const der = this.connection.tls?.peer?.der
    if (der !== undefined) this.#certificate ??= new X509Certificate(der)
    return this.#certificate
  }
}
