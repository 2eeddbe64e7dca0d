import type { Duplex } from 'node:stream'
import { ByteQueue } from './byte-queue.ts'

/** Sends one message with its length before it, as DNS over TCP does (RFC 7766), and reads the one that answers it. */
export function exchangeMessage(socket: Duplex, message: Uint8Array): Promise<Buffer> {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(message.length)
  socket.write(Buffer.concat([length, message]))
  return readMessage(socket)
}

/** Reads one message with its length before it. */
export async function readMessage(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const buffer = new ByteQueue()
  for await (const chunk of chunks) {
    buffer.push(chunk)
    const { bytes } = buffer
    if (bytes.length >= 2 && bytes.length >= 2 + bytes.readUInt16BE(0))
      return bytes.subarray(2, 2 + bytes.readUInt16BE(0))
  }
  throw new Error('the connection was closed without a response')
}
