import { defineModule } from '../module.ts'

/** Converts WebSocket connections to plain TCP towards the upstream. */
export const WebsocketTcpConverter = defineModule('websocket_tcp_converter', {})
