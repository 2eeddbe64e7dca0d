import { createHash } from 'node:crypto'
import type { Exchange } from './contracts/exchange.ts'
import { type EdgeError, edgeError } from './errors.ts'
import type { MessageFraming } from './message/field-scan.ts'
import { HeaderFields } from './message/fields.ts'
import type { RequestHead } from './message/request-head.ts'

/** RFC 6455 section 1.3. */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const KEY = /^[+/0-9A-Za-z]{21}[AQgw]==$/

/** True for a WebSocket request; other upgrades are ignored, as RFC 9110 section 7.8 allows (decision 42). */
export function isWebSocketRequest({ minor, framing }: RequestHead): boolean {
  return framing.upgrading && minor === 1 && framing.upgrade === 'websocket'
}

/** Returns why a WebSocket request is rejected, undefined when it is valid (P29). */
export function checkWebSocketRequest({ method, framing }: RequestHead): EdgeError | undefined {
  if (method !== 'GET' || framing.chunked || framing.contentLength > 0) {
    return edgeError('bad_request', 'WebSocket begins with a GET without a body')
  }
  const keys = new HeaderFields(framing.fieldLines).getAll('sec-websocket-key')
  if (keys.length !== 1 || !KEY.test(keys[0]!)) {
    return edgeError('bad_request', 'its Sec-WebSocket-Key is not valid')
  }
  return undefined
}

/** Whether a 101 response accepts the WebSocket request of this exchange. */
export function isWebSocketAccept(exchange: Exchange, framing: MessageFraming): boolean {
  const key = exchange.fields.get('sec-websocket-key')
  const accept = new HeaderFields(framing.fieldLines).getAll('sec-websocket-accept')
  if (key === undefined || accept.length !== 1 || !framing.upgrading || framing.upgrade !== 'websocket')
    return false
  return accept[0] === webSocketAccept(key)
}

/** The Sec-WebSocket-Accept value that answers a key (RFC 6455 section 4.2.2). */
export function webSocketAccept(key: string): string {
  return createHash('sha1')
    .update(key + GUID)
    .digest('base64')
}
