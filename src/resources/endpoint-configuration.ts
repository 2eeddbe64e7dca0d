import { common, defineResource, fixed } from './define.ts'
import { choice, required } from './value.ts'

/** A record that reserved domains and addresses may reference; kept for compatibility. */
export const EndpointConfiguration = defineResource({
  name: 'endpoint configuration',
  description: 'Accepted for compatibility with older clients; use edges instead.',
  path: '/endpoint_configurations',
  prefix: 'ec',
  listKey: 'endpoint_configurations',
  event: 'endpoint_configuration',
  fields: {
    ...common,
    type: fixed(required(choice(['http', 'https', 'tcp'], 'https')), 'The protocol.'),
  },
})
