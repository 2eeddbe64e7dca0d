import { Type } from 'typebox'
import { hostportClaims, noPolicies } from './edge-fields.ts'
import { Backend } from './modules/backend.ts'
import { IpRestriction } from './modules/ip-restriction.ts'
import { ConnectionPolicy } from './modules/traffic-policy.ts'
import { common, defineResource, editable, live } from './schema/define.ts'
import { hostports } from './schema/formats.ts'
import { moduleField } from './schema/module.ts'

/** The service assigns addresses, so that account documents write the name of the reserved address instead. */
const addresses = {
  ...hostports,
  written: { ...hostports.written, items: Type.String({ maxLength: 300, 'x-address-of': 'reserved_addrs' }) },
}

/** A public entry for TCP connections on a reserved address. */
export const TcpEdge = defineResource({
  name: 'TCP edge',
  description: 'Public entry points for any protocol over TCP.',
  path: '/edges/tcp',
  prefix: 'edgtcp',
  listKey: 'tcp_edges',
  event: 'tcp_edge',
  fields: {
    ...common,
    hostports: editable({ ...addresses, example: ['1.tcp.example.com:20001'] }),
    backend: moduleField(Backend),
    ip_restriction: moduleField(IpRestriction),
    traffic_policy: moduleField(ConnectionPolicy),
    policies: live(noPolicies),
  },
  naturalName: ({ hostports }) => hostports?.[0] ?? '',
  unique: ({ hostports }) => hostportClaims(hostports),
})
