import { createServer, type Server } from 'node:net'
import { ConcurrencyLimiter, type ConcurrencyLimits } from '../../base/io/sockets/concurrency-limiter.ts'
import type { ProxyProtocolReader } from '../../base/io/sockets/proxy-protocol-reader.ts'
import type { EdgeRuntime } from '../contracts/runtime.ts'
import { Http1ServerConnection } from '../http/http1-connection.ts'
import { acceptClient } from './accept-client.ts'
import { SocketConnection } from './socket-connection.ts'

/** Creates the plain HTTP listener. */
export function createHttpListener(
  runtime: EdgeRuntime,
  limits: ConcurrencyLimits,
  proxyProtocol?: ProxyProtocolReader,
): Server {
  const limiter = new ConcurrencyLimiter(limits)
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
    acceptClient(socket, limiter, proxyProtocol, (addresses) => {
      const connection = new SocketConnection(addresses, 'http', runtime, socket)
      new Http1ServerConnection(runtime, socket, socket, connection)
      socket.resume()
    }),
  )
  server.maxConnections = limits.total
  return server
}
