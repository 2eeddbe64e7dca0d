import { described, integer, object, withDefault } from '../config.ts'
import { defineAction } from './define.ts'

export const deny = defineAction({
  type: 'deny',
  description: 'Rejects a request with an empty response, or closes a connection.',
  example: { status_code: 403 },
  phases: ['on_tcp_connect', 'on_http_request'],
  ends: 'always',
  rejects: () => true,
  config: object({
    status_code: described(withDefault(integer(400, 599), 403), 'the status of the response to a request'),
  }),
})
