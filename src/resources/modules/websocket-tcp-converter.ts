import { defineModule } from '../module.ts'

/** Turns WebSocket connections into plain TCP towards the upstream. */
export const WebsocketTcpConverter = defineModule('websocket_tcp_converter', {})
