import type { ByteStream } from '../base/io/streams/stream.ts'
import { hostOf } from '../base/values/hostport.ts'
import type { ClientInfo, LegView, LiveSession, LiveTunnel, TunnelAddress } from '../sessions/index.ts'

/**
 * What peers publish to each other beside sessions and tunnels: JSON values, perhaps those of another release.
 * `revocation` travels with the registry, in order and confirmed. `counts` are lines of a stream of their own, of which
 * a peer that does not keep up misses some.
 */
export type PeerTopic = 'revocation' | 'counts'
export type ReceivePublished = (topic: PeerTopic, value: unknown) => void

/** The purpose of a stream between nodes: the first four bytes its opener writes. */
export const PeerStream = {
  Hello: 1,
  Watch: 2,
  Open: 3,
  Command: 4,
  End: 5,
  Probe: 6,
  Api: 7,
  Counts: 8,
} as const

/** A session as nodes exchange it. */
export type SessionSnapshot = Pick<
  LiveSession,
  | 'id'
  | 'accountId'
  | 'credentialId'
  | 'ownerId'
  | 'clientId'
  | 'transport'
  | 'agentVersion'
  | 'os'
  | 'hostname'
  | 'ip'
  | 'region'
  | 'metadata'
  | 'startedAt'
  | 'fence'
>

/** A tunnel as nodes exchange it: the fields of its address stand beside the others, for nodes of the previous release. */
export type TunnelSnapshot = Pick<
  LiveTunnel,
  | 'id'
  | 'sessionId'
  | 'startedAt'
  | 'bindId'
  | 'reservationId'
  | 'name'
  | 'description'
  | 'metadata'
  | 'forwardsTo'
  | 'forwardsProto'
  | 'poolingEnabled'
  | 'options'
  | 'fence'
> &
  /** The previous release does not send it. */
  Partial<Pick<LiveTunnel, 'poolingWeight'>> &
  AddressSnapshot

type TcpAddress = Extract<TunnelAddress, { proto: 'tcp' }>

/** The previous release takes any address with a host for a host name, so a TCP port is sent without it. */
type AddressSnapshot = Exclude<TunnelAddress, TcpAddress> | Omit<TcpAddress, 'host'>

/** One line of a watch stream: a change of the peer's registry. `complete` ends the initial snapshot. */
export type RegistryEvent =
  | { readonly session: SessionSnapshot }
  | { readonly sessionChanged: SessionSnapshot }
  | { readonly tunnel: TunnelSnapshot }
  | { readonly tunnelChanged: TunnelSnapshot }
  /** `kept`: as for tunnels; the previous release does not send it. */
  | { readonly sessionGone: string; readonly kept?: boolean }
  /** The legs that a session, of the peer or of another node, has at the peer. */
  | { readonly legs: { readonly sessionId: string; readonly legs: readonly LegView[] } }
  | { readonly tunnelGone: { readonly sessionId: string; readonly bindId: string; readonly kept: boolean } }
  /** Sessions of visitors were revoked. The previous release reads it from the database alone. */
  | { readonly revocation: unknown }
  /** The identity of the history of the peer's database, empty while it is unavailable. The previous release ignores it. */
  | { readonly history: string }
  | { readonly complete: true }

/** A line in the other direction: how many lines the watching node has registered. */
export interface WatchReport {
  readonly applied: number
}

export function toSessionSnapshot(session: LiveSession): SessionSnapshot {
  const { id, accountId, credentialId, ownerId, clientId, transport } = session
  const { agentVersion, os, hostname = '', ip, region, metadata, startedAt, fence = 0 } = session
  return {
    ...{ id, accountId, credentialId, ownerId, clientId, transport },
    ...{ agentVersion, os, hostname, ip, region, metadata, startedAt, fence },
  }
}

export function toLegsEvent({ id, legs }: LiveSession): RegistryEvent {
  const views = (legs?.all ?? []).map(({ ip, region, startedAt }) => ({ ip, region, startedAt }))
  return { legs: { sessionId: id, legs: views } }
}

export function toTunnelSnapshot(tunnel: LiveTunnel): TunnelSnapshot {
  const { id, sessionId, startedAt, bindId, reservationId } = tunnel
  const { name, description, metadata, forwardsTo, forwardsProto, options, fence } = tunnel
  const { poolingEnabled, poolingWeight } = tunnel
  return {
    ...{ id, sessionId, startedAt, bindId, reservationId },
    ...{ name, description, metadata, forwardsTo, forwardsProto, options, fence },
    ...{ poolingEnabled, poolingWeight },
    ...toAddressSnapshot(tunnel.address),
  }
}

function toAddressSnapshot(address: TunnelAddress): AddressSnapshot {
  if (address.proto !== 'tcp') return address
  const { host: _, ...snapshot } = address
  return snapshot
}

/** The address of a peer's tunnel. */
export function addressOf(snapshot: AddressSnapshot): TunnelAddress {
  const { proto, url, labels } = snapshot
  if (proto === undefined) return { labels }
  const { port, hostport, internalTo } = snapshot
  return { proto, host: hostOf(hostport), port, hostport, url, internalTo }
}

/** The header of a proxied stream between nodes: the tunnel id and the client. */
export interface OpenHeader {
  readonly tunnel: string
  /** Set to open the stream on a leg that this session has at the receiver, whose tunnel it need not be. */
  readonly session?: string
  readonly visitor: ClientInfo
}

/** The header of a stream to the management API of a peer: the platform's host that the client came to, and the client. */
export interface ApiHeader {
  readonly host: string
  readonly visitor: ClientInfo
}

/** Opens a connection to the management API. */
export type DialApi = (header: ApiHeader) => ByteStream
