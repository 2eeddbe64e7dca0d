import { formatTimestamp } from '../base/values/clock.ts'

/** A session, as the session registry reports it. */
export interface AgentSessionDetails {
  readonly id: string
  readonly accountId: string
  readonly credentialId: string
  readonly transport: string
  readonly agentVersion: string
  readonly os: string
  readonly arch?: string
  readonly userAgent?: string
  /** The host name that the agent dialled and the address it reached. */
  readonly ingressHostname?: string
  readonly ingressIp?: string
  readonly ip: string
  readonly region: string
  readonly metadata: string
  readonly startedAt: number
}

/** A tunnel, as the session registry reports it. */
export interface TunnelDetails {
  readonly id: string
  readonly accountId: string
  readonly sessionId: string
  readonly region: string
  /** A public address, or labels. */
  readonly address: {
    readonly proto?: string | undefined
    readonly url?: string | undefined
    readonly labels?: Readonly<Record<string, string>> | undefined
  }
  readonly forwardsTo: string
  readonly metadata: string
  readonly startedAt: number
}

/** The start or stop of a session or tunnel. */
export type SessionLifecycleEvent =
  | { readonly type: 'session_started'; readonly session: AgentSessionDetails }
  | {
      readonly type: 'session_stopped'
      readonly session: AgentSessionDetails
      readonly error: string | undefined
    }
  | { readonly type: 'tunnel_started' | 'tunnel_stopped'; readonly tunnel: TunnelDetails }

/** The event types of sessions and tunnels, with their sequence number. */
export const lifecycleEvents = {
  session_started: { type: 'agent_session_start.v0', sequence: 1 },
  session_stopped: { type: 'agent_session_stop.v0', sequence: 2 },
  tunnel_started: { type: 'tunnel_start.v0', sequence: 1 },
  tunnel_stopped: { type: 'tunnel_stop.v0', sequence: 2 },
} as const satisfies Record<SessionLifecycleEvent['type'], { type: string; sequence: number }>

/** The account of a session or tunnel. */
export function accountOfLifecycleEvent(event: SessionLifecycleEvent): string {
  return 'session' in event ? event.session.accountId : event.tunnel.accountId
}

/** The object of an event of a session or tunnel. */
export function lifecycleObject(
  event: SessionLifecycleEvent,
  now: number,
  uriOf: (id: string) => string,
): unknown {
  const ref = (id: string) => ({ id, uri: uriOf(id) })
  const stopped_at = event.type.endsWith('_stopped') ? formatTimestamp(now) : null
  if ('session' in event) {
    const { id, credentialId, ip, region, agentVersion, metadata, os, transport, startedAt } = event.session
    const { arch = '', userAgent = '', ingressHostname = '', ingressIp = '' } = event.session
    return {
      session: ref(id),
      credential: ref(credentialId),
      agent_ip: ip,
      ingress_server_ip: ingressIp,
      ingress_hostname: ingressHostname,
      region,
      agent_version: agentVersion,
      user_agent: userAgent,
      metadata,
      os,
      arch,
      transport,
      started_at: formatTimestamp(startedAt),
      stopped_at,
      // Sessions do not expire, and no agent version is deprecated.
      expires_at: null,
      deprecated: null,
      error: ('error' in event && event.error) || null,
    }
  }
  const { id, sessionId, region, address, forwardsTo, metadata, startedAt } = event.tunnel
  return {
    id,
    session: ref(sessionId),
    region,
    proto: address.proto ?? null,
    public_url: address.url ?? null,
    labels: address.labels ?? null,
    forwards_to: forwardsTo,
    metadata,
    started_at: formatTimestamp(startedAt),
    stopped_at,
  }
}
