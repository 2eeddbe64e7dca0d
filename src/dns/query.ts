import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, isIPv6 } from 'node:net'
import { type DecodedPacket, decode, encode, type RecordType } from 'dns-packet'
import { ByteQueue } from '../base/io/byte-queue.ts'

/** The response of one server, queried directly without a resolver. */
export interface DirectResponse {
  /** Such as `NOERROR` or `REFUSED`. */
  readonly rcode: string
  readonly authoritative: boolean
  readonly answers: number
}

/** Queries a server directly over UDP or TCP; throws when it does not respond in time. */
export async function queryServer(
  server: { host: string; port: number },
  question: { name: string; type: RecordType },
  transport: 'udp' | 'tcp',
  timeoutMs = 3000,
): Promise<DirectResponse> {
  const query = encode({ type: 'query', id: Math.floor(Math.random() * 65_536), questions: [question] })
  const signal = AbortSignal.timeout(timeoutMs)
  const response = await (transport === 'udp'
    ? queryUdp(server, query, signal)
    : queryTcp(server, query, signal))
  const packet = decode(response) as DecodedPacket & { rcode: string }
  return { rcode: packet.rcode, authoritative: packet.flag_aa, answers: packet.answers?.length ?? 0 }
}

async function queryUdp(
  { host, port }: { host: string; port: number },
  query: Buffer,
  signal: AbortSignal,
): Promise<Buffer> {
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4')
  try {
    socket.send(query, port, host)
    const [response] = (await once(socket, 'message', { signal })) as [Buffer]
    return response
  } finally {
    socket.close()
  }
}

async function queryTcp(
  { host, port }: { host: string; port: number },
  query: Buffer,
  signal: AbortSignal,
): Promise<Buffer> {
  const socket = connect({ host, port, signal })
  try {
    const length = Buffer.alloc(2)
    length.writeUInt16BE(query.length)
    socket.write(Buffer.concat([length, query]))
    return await readMessage(socket)
  } finally {
    socket.on('error', () => {})
    socket.destroy()
  }
}

/** Reads one length-prefixed message (RFC 7766). */
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
