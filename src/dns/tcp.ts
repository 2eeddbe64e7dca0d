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

const MESSAGE_LIMIT = 4096

/** Serves length-prefixed messages (RFC 7766): any number on one connection, answered in order. */
export function createTcpServer(answer: (query: Buffer) => Buffer | undefined, limits: TcpLimits): Server {
  const admission = new Admission({ total: limits.connections, perHolder: limits.connectionsPerSource })
  const server = createServer((socket) => {
    socket.on('error', () => {}) // A peer that breaks off is no event; 'close' follows.
    if (admission.admit(socket)) serve(socket, answer, limits.idleMs)
  })
  server.maxConnections = limits.connections
  return server
}

function serve(socket: Socket, answer: (query: Buffer) => Buffer | undefined, idleMs: number): void {
  // Not the socket's own timeout: a peer that drips single bytes would keep that one alive for ever.
  const idle = setTimeout(() => socket.destroy(), idleMs)
  const pending = new ByteQueue()

  function work(): void {
    while (pending.length >= 2 && !socket.writableNeedDrain && !socket.destroyed) {
      const length = pending.bytes.readUInt16BE(0)
      if (length > MESSAGE_LIMIT) return void socket.destroy()
      if (pending.length < 2 + length) return
      const reply = answer(pending.bytes.subarray(2, 2 + length))
      pending.drop(2 + length)
      if (reply === undefined) return void socket.destroy()
      idle.refresh()
      const prefix = Buffer.alloc(2)
      prefix.writeUInt16BE(reply.length)
      // A client that does not read is not read from either; the timer ends it.
      if (!socket.write(Buffer.concat([prefix, reply]))) socket.pause()
    }
  }

  socket.setNoDelay(true)
  socket.on('data', (chunk: Buffer) => {
    pending.push(chunk)
    work()
  })
  socket.on('drain', () => {
    socket.resume()
    work()
  })
  socket.on('close', () => clearTimeout(idle))
}
