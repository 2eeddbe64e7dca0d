import type { Socket } from 'node:net'
import type { ConcurrencyLimiter } from '../../base/io/sockets/concurrency-limiter.ts'
import type { ProxyProtocolReader } from '../../base/io/sockets/proxy-protocol-reader.ts'
import type { SocketEnds } from '../../base/io/sockets/socket-addresses.ts'

/** Admits a connection and calls `onClient`, after its PROXY protocol header on a listener that requires one. */
export function acceptClient(
  socket: Socket,
  limiter: ConcurrencyLimiter,
  proxyProtocol: ProxyProtocolReader | undefined,
  onClient: (ends: SocketEnds) => void,
): void {
  const admit = (headerEnds?: SocketEnds): void => {
    const ends = limiter.admit(socket, headerEnds)
    if (ends !== undefined) onClient(ends)
  }
  if (proxyProtocol === undefined) admit()
  else proxyProtocol.read(socket, admit)
}
