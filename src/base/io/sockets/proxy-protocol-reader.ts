import type { Socket } from 'node:net'
import type { Logger } from '../../process/log.ts'
import { ByteQueue } from '../streams/byte-queue.ts'
import { parseProxyProtocol } from './proxy-protocol.ts'
import { readAddresses, type SocketAddresses } from './socket-addresses.ts'

/** A proxy sends its header at once; the specification asks for more than 3 s, for a lost packet. */
const HEADER_TIMEOUT_MS = 5_000
/** Scanners must not fill the log: each kind of rejection is logged at most this often. */
const LOG_INTERVAL_MS = 60_000

export interface ProxyProtocolOptions {
  /** The name of the listener, for the log. */
  readonly listener: string
  isTrusted(ip: string): boolean
  /** Connections at once whose header is incomplete. */
  readonly maxPending: number
  readonly timeoutMs?: number
  readonly log: Pick<Logger, 'warn'>
}

/**
 * Reads the PROXY protocol header of a listener's connections. Deny on doubt (decision 168): a peer that is not a trusted
 * proxy is rejected, and so is a trusted one without a valid header.
 */
export class ProxyProtocolReader {
  readonly #options: ProxyProtocolOptions
  readonly #pending = new Set<Socket>()
  readonly #loggedAt = new Map<string, number>()

  constructor(options: ProxyProtocolOptions) {
    this.#options = options
  }

  /**
   * Calls `onClient` with the addresses that the header names, or those of the socket when the proxy connects on its own
   * behalf. The socket is then paused, its next byte the client's first. Destroys the connection otherwise.
   */
  read(socket: Socket, onClient: (addresses: SocketAddresses) => void): void {
    socket.on('error', () => {})
    const addresses = readAddresses(socket)
    if (addresses === undefined || this.#pending.size >= this.#options.maxPending) {
      socket.destroy()
      return
    }
    if (!this.#options.isTrusted(addresses.remoteAddress)) {
      this.#reject(socket, addresses.remoteAddress, 'connection refused: the peer is not a trusted proxy')
      return
    }
    const queue = new ByteQueue()
    const timer = setTimeout(() => socket.destroy(), this.#options.timeoutMs ?? HEADER_TIMEOUT_MS)
    this.#pending.add(socket)

    const stop = (): void => {
      clearTimeout(timer)
      this.#pending.delete(socket)
      socket.off('data', onData)
      socket.off('end', onEnd)
      socket.off('close', stop)
    }
    const onEnd = (): void => {
      socket.destroy()
    }
    const onData = (chunk: Buffer): void => {
      const bytes = queue.join(chunk)
      const header = parseProxyProtocol(bytes)
      if (header === 'incomplete') {
        queue.retain(bytes)
        return
      }
      stop()
      if (header === 'invalid') {
        this.#reject(socket, addresses.remoteAddress, 'connection refused: no valid PROXY protocol header')
        return
      }
      socket.pause()
      if (header.length < bytes.length) socket.unshift(bytes.subarray(header.length))
      onClient(header.addresses ?? { ...addresses, isProxyItself: true })
    }
    socket.on('data', onData)
    socket.on('end', onEnd)
    socket.on('close', stop)
    socket.resume()
  }

  /** Destroys the connections whose header is incomplete. */
  close(): void {
    for (const socket of this.#pending) socket.destroy()
  }

  #reject(socket: Socket, ip: string, message: string): void {
    socket.destroy()
    const now = performance.now()
    if (now - (this.#loggedAt.get(message) ?? Number.NEGATIVE_INFINITY) < LOG_INTERVAL_MS) return
    this.#loggedAt.set(message, now)
    this.#options.log.warn({ listener: this.#options.listener, ip }, message)
  }
}
