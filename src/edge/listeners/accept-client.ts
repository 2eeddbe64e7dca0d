import type { Socket } from 'node:net'
import type { ConcurrencyLimiter } from '../../base/io/sockets/concurrency-limiter.ts'
import type { ProxyProtocolReader } from '../../base/io/sockets/proxy-protocol-reader.ts'
import type { SocketAddresses } from '../../base/io/sockets/socket-addresses.ts'

/** Admits a connection and calls `onClient`, after its PROXY protocol header on a listener that requires one. */
export function acceptClient(
  socket: Socket,
  limiter: ConcurrencyLimiter,
  proxyProtocol: ProxyProtocolReader | undefined,
  onClient: (addresses: SocketAddresses) => void,
): void {
  const admit = (headerAddresses?: SocketAddresses): void => {
    const addresses = limiter.admit(socket, headerAddresses)
    if (addresses !== undefined) onClient(addresses)
  }
  if (proxyProtocol === undefined) admit()
  else proxyProtocol.read(socket, admit)
}
