import { defineResource, live } from './define.ts'
import { MAX_POLICY_BYTES } from './modules/traffic-policy.ts'
import { flag, integer, list, nullable, reference, text } from './value.ts'

/** A public address that is online now: of a tunnel or of an edge. */
export const Endpoint = defineResource({
  name: 'endpoint',
  path: '/endpoints',
  prefix: 'ep',
  listKey: 'endpoints',
  online: true,
  operations: ['get', 'list'],
  fields: {
    id: live(text(64)),
    uri: live(text(2048)),
    created_at: live(text(64)),
    updated_at: live(text(64)),
    region: live(text(16)),
    type: live(text(16)),
    proto: live(text(16)),
    scheme: live(text(16)),
    host: live(text(300)),
    port: live(integer(0, 65_535, 0)),
    hostport: live(text(300)),
    public_url: live(text(2048)),
    url: live(text(2048)),
    bindings: live(list(text(32))),
    pooling_enabled: live(flag(false)),
    name: live(text(255)),
    description: live(text(255)),
    metadata: live(text(4096)),
    domain: live(nullable(reference(['rd'], 'domain_id'))),
    tcp_addr: live(nullable(reference(['ra'], 'tcp_addr_id'))),
    tunnel: live(nullable(reference(['tn'], 'tunnel_id'))),
    tunnel_session: live(nullable(reference(['ts'], 'tunnel_session_id'))),
    principal: live(nullable(reference(['usr', 'bot'], 'principal_id'))),
    edge: live(nullable(reference(['edghts', 'edgtls', 'edgtcp'], 'edge_id'))),
    upstream_url: live(text(2048)),
    upstream_protocol: live(text(16)),
    traffic_policy: live(text(MAX_POLICY_BYTES)),
  },
})
