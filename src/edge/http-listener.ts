import { createServer, type Server } from 'node:net'
import type { Core } from './core.ts'
import { Http1Visitor } from './http1.ts'
import { SocketConnection } from './socket-connection.ts'

/** The plain HTTP listener, not yet listening. */
export function createHttpListener(core: Core, maxConnections: number): Server {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    new Http1Visitor(core, socket, socket, new SocketConnection(socket, 'http', core.clock.now()))
  })
  server.maxConnections = maxConnections
  return server
}
