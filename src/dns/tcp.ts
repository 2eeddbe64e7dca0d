import { createServer, type Server, type Socket } from 'node:net'
import { ConcurrencyLimiter } from '../base/io/sockets/concurrency-limiter.ts'
import { ByteQueue } from '../base/io/streams/byte-queue.ts'

/** Connection limits. */
export interface TcpLimits {
  connections: number
  connectionsPerSource: number
  /** A connection is closed after this long without a complete message or a sent response. */
  idleMs: number
}

const MAX_MESSAGE_BYTES = 4096

/** Serves length-prefixed messages (RFC 7766): any number per connection, in order. */
export function createTcpServer(respond: (query: Buffer) => Buffer | undefined, limits: TcpLimits): Server {
  const limiter = new ConcurrencyLimiter({
    total: limits.connections,
    perHolder: limits.connectionsPerSource,
  })
  const server = createServer((socket) => {
    socket.on('error', () => {}) // A reset by the peer needs no handling; 'close' follows.
    if (limiter.admit(socket)) serve(socket, respond, limits.idleMs)
  })
  server.maxConnections = limits.connections
  return server
}

function serve(socket: Socket, respond: (query: Buffer) => Buffer | undefined, idleMs: number): void {
  // Not the socket's own timeout: a peer that drips single bytes would keep resetting it.
  const idleTimer = setTimeout(() => socket.destroy(), idleMs)
  const pending = new ByteQueue()

  function processPending(): void {
    while (pending.length >= 2 && !socket.writableNeedDrain && !socket.destroyed) {
      const length = pending.bytes.readUInt16BE(0)
      if (length > MAX_MESSAGE_BYTES) return void socket.destroy()
      if (pending.length < 2 + length) return
      const response = respond(pending.bytes.subarray(2, 2 + length))
      pending.drop(2 + length)
      if (response === undefined) return void socket.destroy()
      idleTimer.refresh()
      const prefix = Buffer.alloc(2)
      prefix.writeUInt16BE(response.length)
      // Stops reading from a client that does not read; the idle timer closes it.
      if (!socket.write(Buffer.concat([prefix, response]))) socket.pause()
    }
  }

  socket.setNoDelay(true)
  socket.on('data', (chunk: Buffer) => {
    pending.push(chunk)
    processPending()
  })
  socket.on('drain', () => {
    socket.resume()
    processPending()
  })
  socket.on('close', () => clearTimeout(idleTimer))
}
