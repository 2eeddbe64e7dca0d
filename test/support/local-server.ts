import { once } from 'node:events'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

/** Listens on a free port of the loopback address and returns the port. Server and connections end with the test. */
export async function listen(t: TestContext, server: Server, host = '127.0.0.1'): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, host)
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** Starts an HTTP service and returns its port. */
export function startHttp(t: TestContext, listener: RequestListener): Promise<number> {
  return listen(t, createHttpServer(listener))
}

/** Starts an HTTP service that holds requests for `/wait` until they are released. */
export async function startHoldingHttp(t: TestContext) {
  const released = Promise.withResolvers<void>()
  const service = { port: 0, waiting: 0, release: () => released.resolve() }
  service.port = await startHttp(t, async ({ url }, response) => {
    if (url === '/wait') {
      service.waiting++
      await released.promise
    }
    response.end('served')
  })
  return service
}

/** Starts a TCP service and returns its port. Connections may be half-open. */
export function startTcp(t: TestContext, onConnection: (socket: Socket) => void): Promise<number> {
  return listen(t, createServer({ allowHalfOpen: true }, onConnection))
}
