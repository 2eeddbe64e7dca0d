import { common, defineResource, fixed } from './define.ts'
import { choice, required } from './value.ts'

/** A record that reserved names may refer to; kept for callers that still attach one. */
export const EndpointConfiguration = defineResource({
  name: 'endpoint configuration',
  path: '/endpoint_configurations',
  prefix: 'ec',
  listKey: 'endpoint_configurations',
  event: 'endpoint_configuration',
  fields: {
    ...common,
    type: fixed(required(choice(['http', 'https', 'tcp'], 'https'))),
  },
})
