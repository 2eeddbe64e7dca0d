import type { Tunnel } from '../tunnel.ts'
import type { LiveSession } from './live-session.ts'
import type { LiveTunnel, TunnelSpec } from './live-tunnel.ts'

/** Identifies the agent of a session: two sessions with the same credential and the same, proven, ClientId. */
export function agentKey({ credentialId, clientId }: Pick<LiveSession, 'credentialId' | 'clientId'>): string {
  return `${credentialId} ${clientId}`
}

/**
 * Whether `session` is a later connection of the other's agent. A strict order, identical on every node, so no two
 * sessions can end each other: by fence, which involves no clock (decision 130); by start time where partitioned nodes
 * issued the same fence.
 */
export function isSuccessor(session: LiveSession, other: LiveSession): boolean {
  if (session.id === other.id || agentKey(session) !== agentKey(other)) return false
  const [fence, otherFence] = [session.fence ?? 0, other.fence ?? 0]
  if (fence !== otherFence) return fence > otherFence
  if (session.startedAt !== other.startedAt) return session.startedAt > other.startedAt
  return session.id > other.id
}

/** Whether a bind of the session replaces the tunnel: its own with this id, or one of an earlier session of the agent. */
export function isStale(tunnel: LiveTunnel, session: LiveSession, bindId: string): boolean {
  return tunnel.session === session ? tunnel.bindId === bindId : isSuccessor(session, tunnel.session)
}

/** Whether a tunnel can share its address with a new one of the session. */
export function canPool(tunnel: Tunnel, session: LiveSession, spec: TunnelSpec): boolean {
  return (
    tunnel.poolingEnabled &&
    spec.poolingEnabled &&
    tunnel.accountId === session.accountId &&
    tunnel.address.proto === spec.address.proto
  )
}

/**
 * Of two claims on one name the higher fence wins, on every node. Among claims without a fence, made while the database
 * was unavailable, the older tunnel wins; only a peer node can cause that conflict.
 */
export function outranks(
  claim: { id: string; fence: number },
  current: LiveTunnel,
  session: LiveSession,
): boolean {
  if (claim.fence !== current.fence) return claim.fence > current.fence
  return session.remote === true && claim.id < current.id
}
