import type { Socket } from 'node:net'
import { plainAddress } from '../base/ip-rules.ts'
import type { Connection, TlsFacts } from './connection.ts'
import type { TlsPolicy } from './tls-policy.ts'

/** The facts of an accepted socket. What is rarely asked is looked up when asked. */
export class SocketConnection implements Connection {
  readonly scheme: Connection['scheme']
  readonly remoteAddress: string
  readonly remotePort: number
  readonly serverName: string | undefined
  readonly policy: TlsPolicy | undefined
  readonly tls: TlsFacts | undefined
  readonly startedAt: number
  readonly #socket: Socket

  constructor(
    socket: Socket,
    scheme: Connection['scheme'],
    startedAt: number,
    tls?: { serverName: string; policy: TlsPolicy | undefined; facts: TlsFacts | undefined },
  ) {
    this.#socket = socket
    this.scheme = scheme
    this.startedAt = startedAt
    // Both are missing when the peer was gone before we looked; then nothing will be sent either.
    this.remoteAddress = plainAddress(socket.remoteAddress ?? '0.0.0.0')
    this.remotePort = socket.remotePort ?? 0
    this.serverName = tls?.serverName
    this.policy = tls?.policy
    this.tls = tls?.facts
  }

  get localAddress(): string {
    return plainAddress(this.#socket.localAddress ?? '0.0.0.0')
  }

  get localPort(): number {
    return this.#socket.localPort ?? 0
  }
}
