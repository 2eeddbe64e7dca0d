import { defineResource, live } from './define.ts'
import { map, nullable, reference, references, text } from './value.ts'

/** One name or label set bound in a session that is online now. */
export const Tunnel = defineResource({
  name: 'tunnel',
  path: '/tunnels',
  prefix: 'tn',
  listKey: 'tunnels',
  online: true,
  operations: ['get', 'list'],
  fields: {
    id: live(text(64)),
    started_at: live(text(64)),
    region: live(text(16)),
    forwards_to: live(text(2048)),
    metadata: live(text(4096)),
    tunnel_session: live(reference(['ts'], 'tunnel_session_id')),
    proto: live(nullable(text(16))),
    public_url: live(nullable(text(2048))),
    endpoint: live(nullable(reference(['ep'], 'endpoint_id'))),
    labels: live(nullable(map(text(255)))),
    backends: live(nullable(references(['bkdtg'], 'backend_ids'))),
  },
})
