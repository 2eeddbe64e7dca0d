import { createServer, type Server } from 'node:net'
import { SourceLimit } from '../base/source-limit.ts'
import type { Core } from './core.ts'
import { Http1Visitor } from './http1.ts'
import { SocketConnection } from './socket-connection.ts'

/** The plain HTTP listener, not yet listening. One source may take half of its places (P22). */
export function createHttpListener(core: Core, maxConnections: number): Server {
  const places = new SourceLimit(Math.ceil(maxConnections / 2), maxConnections)
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    if (!places.seat(socket)) return
    new Http1Visitor(core, socket, socket, new SocketConnection(socket, 'http', core.clock.now()))
  })
  server.maxConnections = maxConnections
  return server
}
