import type { Socket } from 'node:net'
import { plainAddress } from '../../values/ip-rules.ts'

/** The addresses of both ends of a TCP connection. IPv4-mapped addresses are unmapped. */
export interface SocketAddresses {
  readonly remoteAddress: string
  readonly remotePort: number
  readonly localAddress: string
  readonly localPort: number
  /** A proxy connected on its own behalf, or without knowing its client, as its PROXY protocol header says. */
  readonly isProxyItself?: boolean
}

/**
 * Copies the addresses of both ends of a socket. Call it when the socket is accepted: a closed socket has lost them.
 * Undefined when the peer reset the connection before it was accepted (decision 113).
 */
export function readAddresses(socket: Socket): SocketAddresses | undefined {
  const { remoteAddress, remotePort, localAddress, localPort } = socket
  if (remoteAddress === undefined || remotePort === undefined) return undefined
  if (localAddress === undefined || localPort === undefined) return undefined
  return {
    remoteAddress: plainAddress(remoteAddress),
    remotePort,
    localAddress: plainAddress(localAddress),
    localPort,
  }
}
