import { formatTimestamp } from '../../base/values/clock.ts'
import { bindingOf, type EndpointAddress } from '../../naming/index.ts'
import type { LegView } from '../session/legs.ts'
import type { LiveSession } from '../session/live-session.ts'
import type { LiveTunnel } from '../session/live-tunnel.ts'
import type { Tunnel } from '../tunnel.ts'

/** A reference to a resource in API responses. */
interface Ref {
  id: string
  uri: string
}

/** What the views need beyond the registry. */
export interface ViewContext {
  /** Absolute URI of the resource. */
  uriOf(id: string): string
  /** Ids of the tunnel group backends that select these labels. */
  backendsOf?(accountId: string, labels: Readonly<Record<string, string>>): readonly string[]
}

/** A tunnel session of the management API. */
export function sessionView(session: LiveSession, legs: readonly LegView[], context: ViewContext) {
  return {
    id: session.id,
    uri: context.uriOf(session.id),
    agent_version: session.agentVersion,
    credential: ref(session.credentialId, context),
    ip: session.ip,
    // An SSH client has one connection; a node of the previous release reports no legs.
    legs: (legs.length > 0 ? legs : [session]).map(({ ip, region, startedAt }) => ({
      ip,
      region,
      started_at: formatTimestamp(startedAt),
    })),
    metadata: session.metadata,
    os: session.os,
    region: session.region,
    started_at: formatTimestamp(session.startedAt),
    transport: session.transport,
  }
}

/** A tunnel of the management API. */
export function tunnelView(tunnel: LiveTunnel, context: ViewContext) {
  const { proto, url, labels } = tunnel.address
  return {
    id: tunnel.id,
    started_at: formatTimestamp(tunnel.startedAt),
    region: tunnel.region,
    forwards_to: tunnel.forwardsTo,
    metadata: tunnel.metadata,
    tunnel_session: ref(tunnel.sessionId, context),
    proto: proto ?? null,
    public_url: url ?? null,
    endpoint: labels === undefined ? ref(endpointId(tunnel), context) : null,
    labels: labels ?? null,
    backends:
      labels === undefined
        ? null
        : (context.backendsOf?.(tunnel.accountId, labels) ?? []).map((id) => ref(id, context)),
  }
}

/** The endpoint of a tunnel with its own address. */
export function endpointView(tunnel: LiveTunnel<EndpointAddress>, context: ViewContext) {
  const { reservationId } = tunnel
  const { proto } = tunnel.address
  const reservation = reservationId === undefined ? null : ref(reservationId, context)
  return {
    ...selectorView(tunnel, tunnel.address),
    uri: context.uriOf(endpointId(tunnel)),
    updated_at: formatTimestamp(tunnel.updatedAt),
    // The API adds them: they may be cloud endpoints.
    pools: [],
    domain: proto === 'tcp' ? null : reservation,
    tcp_addr: proto === 'tcp' ? reservation : null,
    tunnel: ref(tunnel.id, context),
    tunnel_session: ref(tunnel.sessionId, context),
    principal: ref(tunnel.session.ownerId, context),
    edge: null,
    upstream_url: tunnel.forwardsTo,
    upstream_protocol: tunnel.forwardsProto,
    traffic_policy: tunnel.options.trafficPolicy ?? '',
  }
}

/**
 * What selectors of Kubernetes operators read of an endpoint, as the list of endpoints shows it: what every process that
 * serves the endpoint knows of it.
 */
export function selectorView(tunnel: Tunnel, address: EndpointAddress) {
  const { proto, host, port, hostport, url } = address
  return {
    id: endpointId(tunnel),
    created_at: formatTimestamp(tunnel.startedAt),
    region: tunnel.region,
    type: isCloudEndpoint(tunnel) ? 'cloud' : 'ephemeral',
    proto,
    scheme: proto,
    host,
    port,
    hostport,
    public_url: url,
    url,
    bindings: [bindingOf(address)],
    pooling_enabled: tunnel.poolingEnabled,
    pooling_weight: tunnel.poolingWeight,
    name: tunnel.name,
    description: tunnel.description,
    metadata: tunnel.metadata,
  }
}

/** A cloud endpoint has no session. */
const isCloudEndpoint = ({ sessionId }: Tunnel) => sessionId === ''

/** A tunnel and its endpoint share the suffix of their ids; a cloud endpoint has its own. */
function endpointId({ id }: Pick<Tunnel, 'id'>): string {
  return id.replace(/^tn_/, 'ep_')
}

function ref(id: string, context: ViewContext): Ref {
  return { id, uri: context.uriOf(id) }
}
