/** What the tls modules of an entry ask of the handshake. */
export interface TlsSettings {
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3'
  /** PEM of the authorities a client certificate must come from; absent means that none is asked for. */
  readonly clientAuthorities?: readonly string[]
}

/** One way to terminate TLS. Connections, session tickets and requests never cross from one policy to another. */
export interface TlsPolicy {
  /** Equal keys mean equal settings for the same audience, also after the configuration was compiled anew. */
  readonly key: string
  readonly settings: TlsSettings
}
