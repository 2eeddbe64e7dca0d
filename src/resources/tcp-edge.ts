import { common, defineResource, editable, live } from './define.ts'
import { hostportClaims, noPolicies } from './edge-fields.ts'
import { hostports } from './formats.ts'
import { module } from './module.ts'
import { Backend } from './modules/backend.ts'
import { IpRestriction } from './modules/ip-restriction.ts'
import { TrafficPolicy } from './modules/traffic-policy.ts'

/** A public entry for TCP connections on a reserved address. */
export const TcpEdge = defineResource({
  name: 'TCP edge',
  path: '/edges/tcp',
  prefix: 'edgtcp',
  listKey: 'tcp_edges',
  event: 'tcp_edge',
  fields: {
    ...common,
    hostports: editable(hostports),
    backend: editable(module(Backend)),
    ip_restriction: editable(module(IpRestriction)),
    traffic_policy: editable(module(TrafficPolicy)),
    policies: live(noPolicies),
  },
  unique: ({ hostports }) => hostportClaims(hostports),
})
