import { defineResource, live } from './define.ts'
import { reference, text } from './value.ts'

/** A session of an agent or SSH client that is online now. */
export const TunnelSession = defineResource({
  name: 'tunnel session',
  path: '/tunnel_sessions',
  prefix: 'ts',
  listKey: 'tunnel_sessions',
  online: true,
  operations: ['get', 'list'],
  fields: {
    id: live(text(64)),
    uri: live(text(2048)),
    agent_version: live(text(255)),
    credential: live(reference(['cr', 'sshcr'], 'credential_id')),
    ip: live(text(64)),
    metadata: live(text(4096)),
    os: live(text(64)),
    region: live(text(16)),
    started_at: live(text(64)),
    transport: live(text(16)),
  },
})
