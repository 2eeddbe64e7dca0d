import { Type } from 'typebox'
import { defineModule } from '../schema/module.ts'
import { defineEndpointOption } from '../schema/option.ts'

/** Converts WebSocket connections to plain TCP towards the upstream. */
export const WebsocketTcpConverter = defineModule(
  'websocket_tcp_converter',
  'Connects WebSocket clients to a raw TCP service.',
  {},
  {
    endpoint: defineEndpointOption({
      name: 'websocketTcpConverter',
      field: 'WebsocketTCPConverter',
      key: 'websocket_tcp_converter',
      wire: Type.Object({}),
      config: Type.Boolean(),
      flags: [{ name: 'websocket-tcp-converter', help: 'turn WebSocket messages into a TCP stream' }],
      encode: () => ({}),
      decode: () => true,
      settings: () => ({}),
    }),
  },
)
