import { connect, type TLSSocket } from 'node:tls'
import type { ByteStream } from '../base/io/streams/stream.ts'
import type { Logger } from '../base/process/log.ts'
import { parseHostPort } from '../base/values/hostport.ts'
import type { ClientInfo, LiveTunnel } from '../sessions/index.ts'
import { RemoteRegistry, type RemoteRegistryOptions } from './remote-registry.ts'

/** The name in node certificates; clients cannot request it. */
export const NODE_NAME = 'node.adit.internal'

/** A node that peers can dial. */
export interface Peer {
  /** New for every process start, so it identifies the incarnation. */
  readonly id: string
  readonly address: string
}

export interface LinkOptions extends Omit<RemoteRegistryOptions, 'peerId' | 'onSynced' | 'onClose'> {
  readonly authorityPem: string
  readonly log: Logger
  readonly isOnSameHost: boolean
  /** The peer is no longer listed or connected. */
  onRemoved(): void
}

/**
 * The link to one incarnation of a peer: one connection at a time, redialled while the peer is listed. A working
 * connection proves that the peer is alive, so it stays when the list no longer contains it.
 */
export class Link {
  /** Resolves once the peer's registry is synced, or the first attempt has failed. */
  readonly synced: Promise<void>
  readonly #id: string
  readonly #options: LinkOptions
  readonly #markSynced: () => void
  #address: string
  #listed = true
  #closed = false
  #socket: TLSSocket | undefined
  #remote: RemoteRegistry | undefined
  #retry: NodeJS.Timeout | undefined

  constructor({ id, address }: Peer, options: LinkOptions) {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.synced = promise
    this.#markSynced = resolve
    this.#id = id
    this.#address = address
    this.#options = options
    this.#dial()
  }

  /** The peer's registry while the link is up and the peer runs the management API. */
  get apiPeer(): Pick<RemoteRegistry, 'dialApi'> | undefined {
    return this.#remote?.servesApi === true ? this.#remote : undefined
  }

  /** The identity of the history that the peer sees; empty while it cannot tell. */
  get history(): string {
    return this.#remote?.history ?? ''
  }

  /** Opens a stream on a leg that the session of the tunnel has at the peer; undefined while the link is down. */
  openOnLeg(tunnel: LiveTunnel, client: ClientInfo): ByteStream | undefined {
    return this.#remote?.openOnLeg(tunnel, client)
  }

  sendCounts(lines: Buffer): void {
    this.#remote?.sendCounts(lines)
  }

  /** The list contains the peer, at this address. */
  markListed(address: string): void {
    this.#listed = true
    if (address === this.#address) return
    this.#address = address
    if (this.#socket === undefined) this.#dial()
  }

  /** The list no longer contains the peer. */
  markUnlisted(): void {
    this.#listed = false
    if (this.#socket === undefined) this.#remove()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#retry)
    this.#socket?.destroy()
  }

  #dial(): void {
    clearTimeout(this.#retry)
    const { authorityPem, log, beatMs, isOnSameHost } = this.#options
    const peer = { node: this.#id, address: this.#address }
    const { host, port } = parseHostPort(this.#address) ?? {}
    if (host === undefined || port === undefined) {
      log.warn(peer, 'invalid peer address')
      this.#markSynced()
      return
    }
    const socket = connect({
      host: host.replace(/^\[|\]$/g, ''),
      port,
      servername: NODE_NAME,
      ca: authorityPem,
      minVersion: 'TLSv1.3',
    })
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('error', (error) => log.debug({ ...peer, err: error }, 'peer link failed'))
    this.#remote = new RemoteRegistry(socket, {
      ...this.#options,
      peerId: this.#id,
      onSynced: () => {
        if (isOnSameHost) log.debug(peer, 'peer linked')
        else log.info(peer, 'peer linked')
        this.#markSynced()
      },
      onClose: () => {
        this.#socket = undefined
        this.#remote = undefined
        this.#markSynced()
        if (this.#closed) return
        if (this.#listed) this.#retry = setTimeout(() => this.#dial(), beatMs)
        else this.#remove()
      },
    })
  }

  #remove(): void {
    this.close()
    this.#options.onRemoved()
  }
}
