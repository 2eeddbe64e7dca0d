import type { LiveSession, LiveTunnel, Visitor } from '../sessions/index.ts'

/** What a stream between two nodes is for: the first four bytes its opener writes. */
export const PeerStream = { Hello: 1, Watch: 2, Open: 3, Command: 4, End: 5, Probe: 6 } as const

/** What one node tells another of a session. */
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
  | 'ip'
  | 'region'
  | 'metadata'
  | 'startedAt'
  | 'fence'
>

/** What one node tells another of a tunnel. */
export type TunnelSnapshot = Pick<
  LiveTunnel,
  | 'id'
  | 'sessionId'
  | 'startedAt'
  | 'bindId'
  | 'proto'
  | 'host'
  | 'port'
  | 'url'
  | 'hostport'
  | 'labels'
  | 'reservationId'
  | 'name'
  | 'description'
  | 'metadata'
  | 'forwardsTo'
  | 'forwardsProto'
  | 'poolingEnabled'
  | 'options'
  | 'fence'
>

/** One line of a watch: what came or went on the other node. `complete` ends what was there when the watch began. */
export type RegistryEvent =
  | { readonly session: SessionSnapshot }
  | { readonly tunnel: TunnelSnapshot }
  | { readonly sessionGone: string }
  | { readonly tunnelGone: { readonly sessionId: string; readonly bindId: string; readonly kept: boolean } }
  | { readonly complete: true }

export function toSessionSnapshot(session: LiveSession): SessionSnapshot {
  const { id, accountId, credentialId, ownerId, clientId, transport } = session
  const { agentVersion, os, ip, region, metadata, startedAt, fence = 0 } = session
  return {
    ...{ id, accountId, credentialId, ownerId, clientId, transport },
    ...{ agentVersion, os, ip, region, metadata, startedAt, fence },
  }
}

export function toTunnelSnapshot(tunnel: LiveTunnel): TunnelSnapshot {
  const { id, sessionId, startedAt, bindId, proto, host, port, url, hostport, labels, reservationId } = tunnel
  const { name, description, metadata, forwardsTo, forwardsProto, poolingEnabled, options, fence } = tunnel
  return {
    ...{ id, sessionId, startedAt, bindId, proto, host, port, url, hostport, labels, reservationId },
    ...{ name, description, metadata, forwardsTo, forwardsProto, poolingEnabled, options, fence },
  }
}

/** Which tunnel a stream is for, and the visitor it is opened for. */
export interface OpenHeader {
  readonly tunnel: string
  readonly visitor: Visitor
}
