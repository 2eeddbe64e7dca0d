import { Type } from 'typebox'
import { common, defineResource, editable, live } from './define.ts'
import { hostportClaims, noPolicies } from './edge-fields.ts'
import { hostports } from './formats.ts'
import { HttpsRoute } from './https-route.ts'
import { module } from './module.ts'
import { MutualTls } from './modules/mutual-tls.ts'
import { HttpsTlsTermination } from './modules/tls-termination.ts'
import { plain } from './value.ts'

/** A public entry for HTTPS on reserved domains, with a route for each path. */
export const HttpsEdge = defineResource({
  name: 'HTTPS edge',
  path: '/edges/https',
  prefix: 'edghts',
  listKey: 'https_edges',
  event: 'https_edge',
  fields: {
    ...common,
    hostports: editable(hostports),
    mutual_tls: editable(module(MutualTls)),
    tls_termination: editable(module(HttpsTlsTermination)),
    routes: live(plain<Record<string, unknown>[]>(Type.Array(HttpsRoute.viewSchema), [])),
    policies: live(noPolicies),
  },
  unique: ({ hostports }) => hostportClaims(hostports),
})
