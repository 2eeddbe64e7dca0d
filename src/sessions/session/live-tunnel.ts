import type { ByteStream } from '../../base/io/streams/stream.ts'
import type { EndpointAddress } from '../../naming/index.ts'
import type { ClientInfo, EndpointOptions, Tunnel, TunnelAddress } from '../tunnel.ts'
import type { LiveSession } from './live-session.ts'

/** What a session binds: a name, a port or a label set, with its metadata and options. */
export interface TunnelSpec<A extends TunnelAddress = TunnelAddress> {
  /** The agent's id of the bind; unique within the session only. */
  bindId: string
  /** Set when the tunnel already has an id: from its claim, or from the node that owns it. */
  identity?: { readonly id: string; readonly startedAt: number }
  /** The fence of the claim on the name; absent or 0 while no claim is stored. */
  fence?: number | undefined
  address: A
  /** The reserved domain or address, if any. */
  reservationId?: string | undefined
  name: string
  description: string
  metadata: string
  forwardsTo: string
  forwardsProto: '' | 'http1' | 'http2'
  poolingEnabled: boolean
  poolingWeight: number
  options: EndpointOptions
  open(tunnel: LiveTunnel, client: ClientInfo): ByteStream
}

/** What an agent may change while its tunnel is online. Options are replaced as a whole, never changed in place. */
export type TunnelPatch = Partial<
  Pick<
    LiveTunnel,
    'name' | 'description' | 'metadata' | 'poolingEnabled' | 'poolingWeight' | 'options' | 'updatedAt'
  >
>

/** An online tunnel. */
export class LiveTunnel<A extends TunnelAddress = TunnelAddress> implements Tunnel {
  readonly id: string
  readonly session: LiveSession
  readonly startedAt: number
  readonly bindId: string
  readonly address: A
  readonly reservationId: string | undefined
  readonly forwardsTo: string
  readonly forwardsProto: '' | 'http1' | 'http2'
  // The agent may patch these while the tunnel is online.
  options: EndpointOptions
  name: string
  description: string
  metadata: string
  poolingEnabled: boolean
  poolingWeight: number
  updatedAt: number
  /** The fence of the claim on the name; 0 while no claim is stored. */
  fence: number
  readonly #open: TunnelSpec['open']

  constructor(id: string, session: LiveSession, spec: TunnelSpec<A>, now: number) {
    this.id = id
    this.session = session
    this.startedAt = now
    this.updatedAt = now
    this.fence = spec.fence ?? 0
    this.bindId = spec.bindId
    this.address = spec.address
    this.reservationId = spec.reservationId
    this.name = spec.name
    this.description = spec.description
    this.metadata = spec.metadata
    this.forwardsTo = spec.forwardsTo
    this.forwardsProto = spec.forwardsProto
    this.poolingEnabled = spec.poolingEnabled
    this.poolingWeight = spec.poolingWeight
    this.options = spec.options
    this.#open = spec.open
  }

  get accountId(): string {
    return this.session.accountId
  }

  get sessionId(): string {
    return this.session.id
  }

  get credentialId(): string {
    return this.session.credentialId
  }

  get region(): string {
    return this.session.region
  }

  get pathRevision(): number {
    return this.session.legs?.revision ?? 0
  }

  open(client: ClientInfo): ByteStream {
    return this.#open(this, client)
  }
}

/** Whether the tunnel has a public address of its own. */
export function hasEndpoint(tunnel: LiveTunnel): tunnel is LiveTunnel<EndpointAddress> {
  return tunnel.address.proto !== undefined
}
