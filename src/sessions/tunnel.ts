import type { ByteStream } from '../base/io/stream.ts'

/** The protocols a tunnel can be bound with; labelled tunnels have none, their edge decides. */
export type TunnelProto = 'http' | 'https' | 'tcp' | 'tls'

/** The visitor a stream is opened for. */
export interface Visitor {
  /** `ip:port` of the public client, IPv6 in brackets. */
  clientAddress: string
  /** `ip:port` the client connected to; only the PROXY protocol tells it on. */
  serverAddress: string
  proto: TunnelProto
  /** What kind of entry the visitor came through: the tunnel's own endpoint, or an edge of that kind. */
  via: 'endpoint' | 'tcp-edge' | 'tls-edge' | 'https-edge'
  /** True when the bytes are still the visitor's TLS. */
  passthroughTls: boolean
}

/** What an agent asks of its own endpoint; each option runs through the edge module of the same name. */
export interface EndpointOptions {
  basicAuth?: readonly { username: string; password: string }[]
  ipRestriction?: { allow: readonly string[]; deny: readonly string[] }
  requestHeaders?: { add: readonly (readonly [string, string])[]; remove: readonly string[] }
  responseHeaders?: { add: readonly (readonly [string, string])[]; remove: readonly string[] }
  compression?: boolean
  circuitBreaker?: { errorThreshold: number }
  oauth?: {
    provider: string
    clientId: string
    clientSecret: string
    allowEmails: readonly string[]
    allowDomains: readonly string[]
    scopes: readonly string[]
  }
  oidc?: {
    issuerUrl: string
    clientId: string
    clientSecret: string
    allowEmails: readonly string[]
    allowDomains: readonly string[]
    scopes: readonly string[]
  }
  webhookVerification?: { provider: string; secret: string }
  userAgentFilter?: { allow: readonly string[]; deny: readonly string[] }
  websocketTcpConverter?: boolean
  /** PEM text of the authorities a visitor's certificate must come from. */
  mutualTls?: { caPem: string }
  /** Absent: TLS endpoints pass the visitor's bytes through. Present: the edge terminates, with this certificate if given. */
  tlsTermination?: { certPem?: string; keyPem?: string }
  /** The header the server writes before the visitor's bytes. */
  proxyProto: 0 | 1 | 2
}

/** One name or label set bound in a session: anything that can open a stream, whoever stands behind it. */
export interface Tunnel {
  /** `tn_…`; the endpoint it makes is `ep_…` with the same suffix. */
  readonly id: string
  readonly accountId: string
  readonly sessionId: string
  readonly credentialId: string
  readonly startedAt: number
  readonly region: string
  readonly metadata: string
  readonly description: string
  readonly name: string
  /** What the agent forwards to, for people to read. */
  readonly forwardsTo: string
  /** `http2` when the upstream wants HTTP/2 with prior knowledge. */
  readonly forwardsProto: '' | 'http1' | 'http2'
  /** Undefined for labelled tunnels, as are `url` and `hostport`. */
  readonly proto: TunnelProto | undefined
  readonly url: string | undefined
  /** `host:port` as the public sees it. */
  readonly hostport: string | undefined
  readonly labels: Readonly<Record<string, string>> | undefined
  readonly poolingEnabled: boolean
  readonly options: EndpointOptions
  /** Opens one connection to the agent's upstream; throws `TunnelBusy` when the session is at its cap with a full queue. */
  open(client: Visitor): ByteStream
}

/** Thrown by `Tunnel.open` when the session cannot carry one more stream. */
export class TunnelBusy extends Error {
  override name = 'TunnelBusy'
}

/** What the edge asks of the tunnels online; every answer is a map look-up. */
export interface TunnelLookup {
  /** The tunnel that serves this host name: the exact name, else the most specific wildcard. Pooled tunnels take turns. */
  find(proto: 'http' | 'https' | 'tls', host: string): Tunnel | undefined
  /** The tunnel that serves this public TCP port. */
  findTcp(port: number): Tunnel | undefined
  /** All tunnels of the account whose labels are a superset of the selector; the same array until something changes. */
  labelled(accountId: string, selector: Readonly<Record<string, string>>): readonly Tunnel[]
}

/** Public TCP ports, owned by the edge: sessions ask for one when a tunnel is bound. */
export interface PublicPorts {
  /** Opens the port (any free one of the range, but none avoided, when undefined) and answers with its number; throws when it is taken. */
  acquire(port?: number, excluded?: ReadonlySet<number>): Promise<number>
  release(port: number): void
}
