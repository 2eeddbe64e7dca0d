import { listOf as listType, mapOf as mapType, STRING } from '../../cel/index.ts'
import { checkHeaderName, described, headers, object } from '../config.ts'
import { defineAction } from './define.ts'

export const addHeaders = defineAction({
  type: 'add-headers',
  description:
    'Adds header fields to a request or a response and leaves those that are there. Only host is replaced.',
  example: { headers: { 'x-client-ip': '${conn.client_ip}' } },
  phases: ['on_http_request', 'on_http_response'],
  config: object({
    headers: described(
      headers((name) =>
        name.toLowerCase() === 'user-agent'
          ? ['reserved_header', 'user-agent cannot be added']
          : checkHeaderName(name),
      ),
      'names and values',
    ),
  }),
  results: { headers_added: mapType(STRING, listType(STRING)) },
})
