import { defineResource, live } from './schema/define.ts'
import { described, list, object, reference, text } from './schema/value.ts'

/** A session of an agent or SSH client that is online now. */
export const TunnelSession = defineResource({
  name: 'tunnel session',
  description: 'Connected agents and SSH clients.',
  path: '/tunnel_sessions',
  prefix: 'ts',
  listKey: 'tunnel_sessions',
  online: true,
  operations: ['get', 'list'],
  fields: {
    id: live(text(64), 'The unique ID.'),
    uri: live(text(2048), 'The address of this object in the API.'),
    agent_version: live(text(255), 'The version of the agent.'),
    credential: live(
      reference(['cr', 'sshcr'], 'credential_id'),
      'The tunnel credential or SSH key that started the session.',
    ),
    ip: live(text(64), 'The source IP address.'),
    metadata: live(text(4096), 'The metadata that the agent is configured with.'),
    os: live(text(64), 'The operating system of the agent.'),
    region: live(text(16), 'The region of the server.'),
    started_at: live(text(64), 'When it started, in RFC 3339 format.'),
    transport: live(text(16), 'The protocol of the session.'),
    legs: live(
      list(
        object(
          {
            ip: described(text(64), 'The source IP address of the connection.'),
            region: described(text(16), 'The region of the server at the other end.'),
            started_at: described(text(64), 'When it was opened, in RFC 3339 format.'),
          },
          { name: 'leg' },
        ),
      ),
      'The connections of the session to all nodes, oldest first.',
    ),
  },
})
