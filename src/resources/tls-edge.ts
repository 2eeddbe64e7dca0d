import { hostportClaims, noPolicies } from './edge-fields.ts'
import { Backend } from './modules/backend.ts'
import { IpRestriction } from './modules/ip-restriction.ts'
import { MutualTls } from './modules/mutual-tls.ts'
import { TlsTermination } from './modules/tls-termination.ts'
import { ConnectionPolicy } from './modules/traffic-policy.ts'
import { common, defineResource, editable, live } from './schema/define.ts'
import { hostports } from './schema/formats.ts'
import { moduleField } from './schema/module.ts'

/** A public entry for TLS connections, chosen by server name. */
export const TlsEdge = defineResource({
  name: 'TLS edge',
  description: 'Public entry points for any protocol over TLS.',
  path: '/edges/tls',
  prefix: 'edgtls',
  listKey: 'tls_edges',
  event: 'tls_edge',
  fields: {
    ...common,
    hostports: editable(hostports),
    backend: moduleField(Backend),
    ip_restriction: moduleField(IpRestriction),
    mutual_tls: moduleField(MutualTls),
    tls_termination: moduleField(TlsTermination),
    traffic_policy: moduleField(ConnectionPolicy),
    policies: live(noPolicies),
  },
  naturalName: ({ hostports }) => hostports?.[0] ?? '',
  unique: ({ hostports }) => hostportClaims(hostports),
  rule({ mutual_tls, tls_termination }) {
    // Without the module TLS passes through, so the edge cannot verify a client certificate.
    const passesThrough =
      tls_termination === null || !tls_termination.enabled || tls_termination.terminate_at === 'upstream'
    if (mutual_tls?.enabled && passesThrough)
      return {
        field: 'mutual_tls',
        message:
          'mutual_tls needs tls_termination with terminate_at edge: the edge must take part in the handshake.',
      }
    return undefined
  },
})
