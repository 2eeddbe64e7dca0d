import { mapOf as mapType, STRING } from '../../cel/index.ts'
import { described, mapOf, object, template } from '../config.ts'
import { defineAction } from './define.ts'

export const log = defineAction({
  type: 'log',
  description: 'Adds facts to the traffic event of the request or connection.',
  example: { metadata: { endpoint: '${endpoint.host}' } },
  phases: ['on_tcp_connect', 'on_http_request', 'on_http_response'],
  config: object({
    metadata: described(
      mapOf(template({ maxLength: 4096, maxResultLength: 4096 }), { minItems: 1, maxItems: 50 }),
      'names and values of the facts',
    ),
  }),
  results: { metadata: mapType(STRING, STRING) },
})
