import { defineResource, live } from './schema/define.ts'
import { map, nullable, reference, references, text } from './schema/value.ts'

/** One name or label set bound in a session that is online now. */
export const Tunnel = defineResource({
  name: 'tunnel',
  description: 'Tunnels that are online.',
  path: '/tunnels',
  prefix: 'tn',
  listKey: 'tunnels',
  online: true,
  operations: ['get', 'list'],
  fields: {
    id: live(text(64), 'The unique ID.'),
    started_at: live(text(64), 'When it started, in RFC 3339 format.'),
    region: live(text(16), 'The region of the server.'),
    forwards_to: live(text(2048), 'The local address that the tunnel forwards to.'),
    metadata: live(text(4096), 'The metadata that the agent is configured with.'),
    tunnel_session: live(reference(['ts'], 'tunnel_session_id'), 'The session of the tunnel.'),
    proto: live(nullable(text(16)), 'The protocol: http, https, tcp or tls.'),
    public_url: live(nullable(text(2048)), 'The public URL.'),
    endpoint: live(
      nullable(reference(['ep'], 'endpoint_id')),
      'The endpoint of the tunnel; null if it has labels.',
    ),
    labels: live(
      nullable(map(text(255))),
      'The labels of the tunnel; null if it has a public address of its own.',
      { app: 'shop' },
    ),
    backends: live(
      nullable(references(['bkdtg'], 'backend_ids')),
      'The tunnel groups that the tunnel belongs to.',
    ),
  },
})
