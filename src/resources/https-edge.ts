import { Type } from 'typebox'
import { hostportClaims, noPolicies } from './edge-fields.ts'
import { HttpsRoute } from './https-route.ts'
import { MutualTls } from './modules/mutual-tls.ts'
import { HttpsTlsTermination } from './modules/tls-termination.ts'
import { common, defineResource, editable, live } from './schema/define.ts'
import { hostports } from './schema/formats.ts'
import { moduleField } from './schema/module.ts'
import { plain } from './schema/value.ts'

/** A public entry for HTTPS on reserved domains, with a route for each path. */
export const HttpsEdge = defineResource({
  name: 'HTTPS edge',
  description: 'Public entry points for HTTP over TLS.',
  path: '/edges/https',
  prefix: 'edghts',
  listKey: 'https_edges',
  event: 'https_edge',
  fields: {
    ...common,
    hostports: editable(hostports),
    mutual_tls: moduleField(MutualTls),
    tls_termination: moduleField(HttpsTlsTermination),
    routes: live(
      plain<Record<string, unknown>[]>(Type.Array(HttpsRoute.viewSchema), []),
      'The routes of the edge.',
    ),
    policies: live(noPolicies),
  },
  naturalName: ({ hostports }) => hostports?.[0] ?? '',
  unique: ({ hostports }) => hostportClaims(hostports),
})
