import { webSocketAccept } from '../websocket.ts'

const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='

/** The headers with which a client asks for a WebSocket. */
export const UPGRADE_HEADERS = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': KEY,
}

/** The request of a client that asks for a WebSocket. */
export const upgradeRequest = (host: string, path = '/') =>
  `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
  `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\n\r\n`

/** The head with which an upstream accepts it. */
export const acceptUpgrade = (...headers: string[]) =>
  [
    'HTTP/1.1 101 Switching Protocols',
    'Connection: Upgrade',
    'Upgrade: websocket',
    `Sec-WebSocket-Accept: ${webSocketAccept(KEY)}`,
    ...headers,
    '\r\n',
  ].join('\r\n')
