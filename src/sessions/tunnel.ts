import type { ByteStream } from '../base/io/streams/stream.ts'
import type { EndpointAddress } from '../naming/index.ts'
import type { ModuleOptions } from '../resources/endpoint-options.ts'

/** The protocols a tunnel can be bound with. Labelled tunnels have none: their edge decides. */
export type TunnelProto = EndpointAddress['proto']

/** Labels that the backends of edges select; such a tunnel has no public address. */
export interface LabelAddress {
  readonly proto?: undefined
  readonly url?: undefined
  readonly internalTo?: undefined
  readonly labels: Readonly<Record<string, string>>
}

/** How a tunnel is reached: at a public address of its own, or by its labels. `proto` tells which. */
export type TunnelAddress = EndpointAddress | LabelAddress

/** The client connection that a stream is opened for. */
export interface ClientInfo {
  /** `ip:port` of the client, IPv6 in brackets. */
  clientAddress: string
  /** `ip:port` the client connected to; only the PROXY protocol header carries it. */
  serverAddress: string
  proto: TunnelProto
  /** The entry the client came through: the tunnel's own endpoint, or an edge of that kind. */
  via: 'endpoint' | 'tcp-edge' | 'tls-edge' | 'https-edge'
  /** True when the stream carries the client's TLS unterminated. */
  passthroughTls: boolean
}

/** The options of an endpoint: those that configure modules, and how TLS and connections are handled. */
export interface EndpointOptions extends ModuleOptions {
  /** PEM text of the authorities that client certificates must chain to. */
  mutualTls?: { caPem: string }
  /** Absent: a TLS endpoint passes TLS through. Present: the edge terminates it, with this certificate if set. */
  tlsTermination?: { certPem?: string; keyPem?: string }
  /** The text of a traffic policy, which was valid when the tunnel was bound. */
  trafficPolicy?: string
  /** PROXY protocol version of the header before the client's bytes; 0 for none. */
  proxyProto: 0 | 1 | 2
}

/** One name or label set bound in a session. Anything that can open a stream: an agent, an SSH client, a peer node. */
export interface Tunnel {
  /** `tn_…`; its endpoint has the id `ep_…` with the same suffix. */
  readonly id: string
  readonly accountId: string
  readonly sessionId: string
  readonly credentialId: string
  readonly startedAt: number
  readonly region: string
  readonly metadata: string
  readonly description: string
  readonly name: string
  /** The agent's upstream, for display. */
  readonly forwardsTo: string
  /** `http2`: the upstream expects HTTP/2 with prior knowledge. */
  readonly forwardsProto: '' | 'http1' | 'http2'
  readonly address: TunnelAddress
  readonly poolingEnabled: boolean
  /** Its share of the traffic of its pool, relative to the other members; 0 is standby. */
  readonly poolingWeight: number
  readonly options: EndpointOptions
  /** Changes when streams that are opened from now on may take a better path than earlier ones. Absent: it never does. */
  readonly pathRevision?: number | undefined
  /** Opens one connection to the upstream; throws `TunnelBusy` when the session is at its limit and its queue is full. */
  open(client: ClientInfo): ByteStream
}

/** Thrown by `Tunnel.open` when the session cannot carry another stream. */
export class TunnelBusy extends Error {
  override name = 'TunnelBusy'
}

/** Thrown by `Tunnel.open` of a tunnel without an upstream. */
export class NoUpstream extends Error {
  override name = 'NoUpstream'
}

/** The address of an internal endpoint, without its account. */
export type InternalAddress = Pick<EndpointAddress, 'proto' | 'host' | 'port'>

/** The tunnels bound at one address: one, or several pooled ones that take turns by weight. */
export interface TunnelPool {
  /** The tunnel whose turn it is. */
  readonly current: Tunnel
  /** The same for one request or raw connection: the next one gets another tunnel of the pool. */
  next(): Tunnel
}

/** Tunnel lookup for the edge; every call is a map lookup. */
export interface TunnelLookup {
  /** The tunnels at this host name: those of the exact name, else of the most specific wildcard. */
  atHost(proto: 'http' | 'https' | 'tls', host: string): TunnelPool | undefined
  /** The tunnels at this public TCP port. */
  atPort(port: number): TunnelPool | undefined
  /** The account's tunnels at this internal address; names match as in `atHost`. */
  atInternal(accountId: string, address: InternalAddress): TunnelPool | undefined
  /** The account's tunnels for a service in its Kubernetes clusters. */
  atBound(accountId: string, address: InternalAddress): TunnelPool | undefined
  /** The tunnels that share the address of this one, itself included; the heaviest first. */
  poolOf(tunnel: Tunnel): readonly Tunnel[]
  /** The account's tunnels whose labels include the selector; the same array until a labelled tunnel changes. */
  findLabelled(accountId: string, selector: Readonly<Record<string, string>>): readonly Tunnel[]
}

/** Public TCP ports, owned by the edge; sessions acquire one for each TCP tunnel. */
export interface PublicPorts {
  /** Opens the port, or any free one that is not excluded, and returns its number; throws when it is in use. */
  acquire(port?: number, excluded?: ReadonlySet<number>): Promise<number>
  release(port: number): void
}
