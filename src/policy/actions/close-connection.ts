import { empty } from '../config.ts'
import { defineAction } from './define.ts'

export const closeConnection = defineAction({
  type: 'close-connection',
  description: 'Closes the connection at once, without a response.',
  example: {},
  phases: ['on_tcp_connect', 'on_http_request'],
  ends: 'always',
  rejects: () => true,
  config: empty,
})
