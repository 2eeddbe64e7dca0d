import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, isIPv6 } from 'node:net'
import { type DecodedPacket, decode, encode, type RecordType } from 'dns-packet'
import { exchangeMessage } from '../base/io/streams/length-prefixed.ts'

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
    return await exchangeMessage(socket, query)
  } finally {
    socket.on('error', () => {})
    socket.destroy()
  }
}
