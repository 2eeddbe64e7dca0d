import { createServer, type Server, type Socket } from 'node:net'
import { Admission } from '../base/admission.ts'
import { ByteQueue } from '../base/io/byte-queue.ts'

/** Limits on connections, which cost more than datagrams. */
export interface TcpLimits {
  connections: number
  connectionsPerSource: number
  /** A connection ends when no whole message came, and no answer could be sent, for this long. */
  idleMs: number
}

const MAX_MESSAGE_BYTES = 4096

/** Serves length-prefixed messages (RFC 7766): any number on one connection, answered in order. */
export function createTcpServer(respond: (query: Buffer) => Buffer | undefined, limits: TcpLimits): Server {
  const admission = new Admission({ total: limits.connections, perHolder: limits.connectionsPerSource })
  const server = createServer((socket) => {
    socket.on('error', () => {}) // A peer that breaks off is no event; 'close' follows.
    if (admission.admit(socket)) serve(socket, respond, limits.idleMs)
  })
  server.maxConnections = limits.connections
  return server
}

function serve(socket: Socket, respond: (query: Buffer) => Buffer | undefined, idleMs: number): void {
  // Not the socket's own timeout: a peer that drips single bytes would keep that one alive for ever.
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
      // A client that does not read is not read from either; the timer ends it.
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
