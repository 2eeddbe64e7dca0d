import type { Socket } from 'node:net'
import { plainAddress } from '../ip-rules.ts'

/** Both ends of a TCP connection. IPv4 addresses are in their plain form. */
export interface SocketEnds {
  readonly remoteAddress: string
  readonly remotePort: number
  readonly localAddress: string
  readonly localPort: number
}

/**
 * Copies both ends of a socket. Call it when the socket is accepted: a closed socket does not know them any more.
 * Undefined when the peer reset the connection before it was accepted, so that there is nobody to serve.
 */
export function readEnds(socket: Socket): SocketEnds | undefined {
  const { remoteAddress, remotePort, localAddress, localPort } = socket
  if (remoteAddress === undefined || localAddress === undefined) return undefined
  return {
    remoteAddress: plainAddress(remoteAddress),
    remotePort: remotePort!,
    localAddress: plainAddress(localAddress),
    localPort: localPort!,
  }
}
