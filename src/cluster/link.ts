import { connect, type TLSSocket } from 'node:tls'
import { parseHostPort } from '../base/hostport.ts'
import type { Logger } from '../base/log.ts'
import { RemoteRegistry, type RemoteRegistryOptions } from './remote-registry.ts'

/** The name on the certificates that nodes show each other; no visitor can ask for it. */
export const NODE_NAME = 'node.adit.internal'

/** A node that others can reach. */
export interface Peer {
  /** New for every start of a process, so it names the incarnation too. */
  readonly id: string
  readonly address: string
}

export interface LinkOptions extends Omit<RemoteRegistryOptions, 'peerId' | 'onSynced' | 'onClose'> {
  readonly authorityPem: string
  readonly log: Logger
  /** The peer is neither listed nor connected any more. */
  onRemoved(): void
}

/**
 * The link to one incarnation of another node: one connection at a time, dialled again while the node is listed. A
 * connection that works is proof of life: it stays when the list does not name the node any more.
 */
export class Link {
  /** Resolves once everything online there is known here, or the first attempt has failed. */
  readonly synced: Promise<void>
  readonly #id: string
  readonly #options: LinkOptions
  readonly #markSynced: () => void
  #address: string
  #listed = true
  #closed = false
  #socket: TLSSocket | undefined
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

  /** The list names the peer, at this address. */
  markListed(address: string): void {
    this.#listed = true
    if (address === this.#address) return
    this.#address = address
    if (this.#socket === undefined) this.#dial()
  }

  /** The list does not name the peer. */
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
    const { authorityPem, log, beatMs } = this.#options
    const peer = { node: this.#id, address: this.#address }
    const { host, port } = parseHostPort(this.#address) ?? {}
    if (host === undefined || port === undefined) {
      log.warn(peer, 'peer address cannot be dialled')
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
    new RemoteRegistry(socket, {
      ...this.#options,
      peerId: this.#id,
      onSynced: () => {
        log.info(peer, 'peer linked')
        this.#markSynced()
      },
      onClose: () => {
        this.#socket = undefined
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
