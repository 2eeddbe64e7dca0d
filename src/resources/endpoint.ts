import { defineResource, live } from './define.ts'
import { MAX_POLICY_BYTES } from './modules/traffic-policy.ts'
import { flag, integer, list, nullable, reference, text } from './value.ts'

/** A public address that is online now: of a tunnel or of an edge. */
export const Endpoint = defineResource({
  name: 'endpoint',
  description: 'Public addresses that are online.',
  path: '/endpoints',
  prefix: 'ep',
  listKey: 'endpoints',
  online: true,
  operations: ['get', 'list'],
  fields: {
    id: live(text(64), 'The unique ID.'),
    uri: live(text(2048), 'The address of this object in the API.'),
    created_at: live(text(64), 'When it was created, in RFC 3339 format.'),
    updated_at: live(text(64), 'When it last changed.'),
    region: live(text(16), 'The region of the server.'),
    type: live(text(16), 'Whether the endpoint belongs to an agent or to an edge.'),
    proto: live(text(16), 'The protocol: http, https, tcp or tls.'),
    scheme: live(text(16), 'The scheme of the public URL.'),
    host: live(text(300), 'The public host name.'),
    port: live(integer(0, 65_535, 0), 'The public port.'),
    hostport: live(text(300), 'The public host name and port.'),
    public_url: live(text(2048), 'The public URL.'),
    url: live(text(2048), 'The public URL.'),
    bindings: live(list(text(32)), 'Where the endpoint is reachable.'),
    pooling_enabled: live(flag(false), 'Whether several agents can share the endpoint.'),
    name: live(text(255), 'The name of the endpoint.'),
    description: live(text(255), 'What it is for. Shown in lists. At most 255 bytes.', 'My first one'),
    metadata: live(text(4096), 'Free text for your own programs, often JSON. At most 4096 bytes.'),
    domain: live(nullable(reference(['rd'], 'domain_id')), 'The reserved domain of the endpoint, if any.'),
    tcp_addr: live(
      nullable(reference(['ra'], 'tcp_addr_id')),
      'The reserved address of the endpoint, if any.',
    ),
    tunnel: live(nullable(reference(['tn'], 'tunnel_id')), 'The tunnel of the endpoint; null for an edge.'),
    tunnel_session: live(nullable(reference(['ts'], 'tunnel_session_id')), 'The session of the tunnel.'),
    principal: live(
      nullable(reference(['usr', 'bot'], 'principal_id')),
      'The user or bot user that owns the endpoint.',
    ),
    edge: live(
      nullable(reference(['edghts', 'edgtls', 'edgtcp'], 'edge_id')),
      'The edge of the endpoint; null for an agent.',
    ),
    upstream_url: live(text(2048), 'The address that the agent forwards to.'),
    upstream_protocol: live(text(16), 'The protocol of the upstream service.'),
    traffic_policy: live(
      text(MAX_POLICY_BYTES),
      'The traffic policy of the agent, in YAML or JSON; empty for an endpoint without one, and for an edge.',
    ),
  },
})
