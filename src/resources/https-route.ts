import { noPolicies, oneSignIn } from './edge-fields.ts'
import { routeModules } from './modules/index.ts'
import { common, defineResource, editable, fixed, live } from './schema/define.ts'
import { moduleFields } from './schema/module.ts'
import { choice, idOf, required, text } from './schema/value.ts'

/** A path on an HTTPS edge, with the modules that process a request and the backend that responds. */
export const HttpsRoute = defineResource({
  name: 'HTTPS edge route',
  description: 'The paths of HTTPS edges, with their modules and backends.',
  path: '/edges/https/{edge_id}/routes',
  prefix: 'edghtsrt',
  listKey: 'routes',
  event: 'https_edge_route',
  operations: ['create', 'get', 'update', 'delete'],
  fields: {
    ...common,
    edge_id: fixed(required(idOf(['edghts'], 'cascade')), 'The HTTPS edge that the route belongs to.'),
    match_type: editable(
      required(choice(['exact_path', 'path_prefix'], 'path_prefix')),
      'Whether the request path must be equal to this path or only start with it.',
    ),
    match: editable(
      required(
        text(1024, (value) =>
          /^\/[\x21-\x7e]*$/.test(value) &&
          !/[?#\\]|\/\/|%2f|%5c|%00/i.test(value) &&
          !/(^|\/)\.\.?(\/|$)/.test(value)
            ? undefined
            : `"${value}" is not a path; write it as it appears in requests, starting with / and without query, // or dot segments.`,
        ),
      ),
      'A path such as / or /api/. Prefixes match character by character, so /api also matches /apix.',
      '/',
    ),
    ...moduleFields(routeModules),
    policies: live(noPolicies),
  },
  unique: ({ edge_id, match_type, match }) => [
    {
      within: 'account',
      scope: `route:${edge_id}`,
      name: `${match_type} ${match}`,
      conflict: `The edge has a route for ${match_type} ${match} already.`,
    },
  ],
  rule: oneSignIn,
})
