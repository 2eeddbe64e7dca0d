import { common, defineResource, editable, live } from './define.ts'
import { hostportClaims, noPolicies } from './edge-fields.ts'
import { hostports } from './formats.ts'
import { moduleField } from './module.ts'
import { Backend } from './modules/backend.ts'
import { IpRestriction } from './modules/ip-restriction.ts'
import { TrafficPolicy } from './modules/traffic-policy.ts'

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
    hostports: editable({ ...hostports, example: ['1.tcp.example.com:20001'] }),
    backend: moduleField(Backend),
    ip_restriction: moduleField(IpRestriction),
    traffic_policy: moduleField(TrafficPolicy),
    policies: live(noPolicies),
  },
  unique: ({ hostports }) => hostportClaims(hostports),
})
