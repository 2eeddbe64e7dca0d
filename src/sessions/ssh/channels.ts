import type { Socket } from 'node:net'
import { fanOut, type OnReceiverError } from '../../base/limits/fan-out.ts'
import type { WindowGrowth } from '../../protocol/index.ts'
import { TunnelBusy } from '../tunnel.ts'
import { CHANNEL_WINDOW_BYTES, type ChannelTransport, ForwardedChannel } from './forwarded-channel.ts'
import {
  type ChannelProtocol,
  channelProtocol,
  type Handlers,
  type IncomingClient,
  isExchangingKeys,
  overrideHandlers,
} from './transport/ssh2.ts'

/** Far above the ids that the package assigns to client-opened channels. */
const FIRST_ID = 2 ** 30

/** OpenSSH's client needs a file descriptor for each, and usually has 1024. */
const MAX_CHANNELS = 500

const MAX_PACKET_BYTES = 32 * 1024

/** Bytes that all channels of a connection may have in the socket's write buffer. */
const MAX_IN_FLIGHT = 256 * 1024

/** A corked socket is flushed at this size, before the end of the tick, so a bulk transfer keeps both sides busy. */
const FLUSH_THRESHOLD_BYTES = 64 * 1024

/** The forwarded channels of one client connection. */
export class Channels implements ChannelTransport {
  readonly windowGrowth: WindowGrowth | undefined
  readonly #client: IncomingClient
  readonly #protocol: ChannelProtocol
  readonly #socket: Socket
  readonly #channels = new Map<number, ForwardedChannel>()
  readonly #blocked = new Set<ForwardedChannel>()
  readonly #onError: OnReceiverError
  #nextId = FIRST_ID
  #corked = false
  #closed = false

  constructor(
    client: IncomingClient,
    socket: Socket,
    windowGrowth: WindowGrowth | undefined,
    onError: OnReceiverError,
  ) {
    this.windowGrowth = windowGrowth
    this.#onError = onError
    this.#client = client
    this.#protocol = channelProtocol(client)
    this.#socket = socket
    overrideHandlers(client, (packageHandlers) => routeChannelMessages(packageHandlers, this.#channels))
    socket.on('drain', () => this.#flush())
    client.on('rekey', () => this.#flush())
  }

  get size(): number {
    return this.#channels.size
  }

  get congested(): boolean {
    return isExchangingKeys(this.#client) || this.#socket.writableLength > MAX_IN_FLIGHT
  }

  /** Opens a channel for a client of a forward; throws `TunnelBusy` at the limit. */
  open(from: {
    boundAddr: string
    boundPort: number
    remoteAddr: string
    remotePort: number
  }): ForwardedChannel {
    if (this.#closed) throw new Error('The SSH connection is closed.')
    if (this.#channels.size >= MAX_CHANNELS)
      throw new TunnelBusy(`The SSH client has ${MAX_CHANNELS} connections open.`)
    const channel = new ForwardedChannel(this.#nextId++, this)
    this.#channels.set(channel.id, channel)
    this.#cork()
    this.#protocol.forwardedTcpip(channel.id, CHANNEL_WINDOW_BYTES, MAX_PACKET_BYTES, from)
    return channel
  }

  /** The connection closed: closes every channel. */
  close(error: Error): void {
    this.#closed = true
    fanOut([...this.#channels.values()], (channel) => channel.onLost(error), this.#onError)
  }

  wait(channel: ForwardedChannel): void {
    this.#blocked.add(channel)
  }

  sendData(peerId: number, data: Buffer): void {
    this.#send(() => this.#protocol.channelData(peerId, data))
  }

  sendEnd(peerId: number): void {
    this.#send(() => this.#protocol.channelEOF(peerId))
  }

  sendClose(peerId: number): void {
    this.#send(() => this.#protocol.channelClose(peerId))
  }

  sendWindowAdjust(peerId: number, bytes: number): void {
    this.#send(() => this.#protocol.channelWindowAdjust(peerId, bytes))
  }

  remove(channel: ForwardedChannel): void {
    this.#channels.delete(channel.id)
    this.#blocked.delete(channel)
  }

  #send(message: () => void): void {
    if (this.#closed) return
    this.#cork()
    message()
    if (this.#socket.writableLength >= FLUSH_THRESHOLD_BYTES) this.#uncork()
  }

  /** Corks the socket until the end of the tick: the package writes each packet in chunks, this makes one system call. */
  #cork(): void {
    if (this.#corked) return
    this.#corked = true
    this.#socket.cork()
    setImmediate(() => this.#uncork())
  }

  #uncork(): void {
    if (!this.#corked) return
    this.#corked = false
    this.#socket.uncork()
  }

  /** Flushes blocked channels in order, so none starves behind another's bulk data. */
  #flush(): void {
    const blocked = [...this.#blocked]
    this.#blocked.clear()
    fanOut(blocked, (channel) => channel.flush(), this.#onError)
  }
}

/** Routes messages of forwarded channels to them and all others to the package. */
function routeChannelMessages(
  packageHandlers: Handlers,
  channels: ReadonlyMap<number, ForwardedChannel>,
): Handlers {
  return {
    CHANNEL_OPEN_CONFIRMATION(protocol, info) {
      const channel = channels.get(info.recipient)
      if (channel === undefined) packageHandlers.CHANNEL_OPEN_CONFIRMATION(protocol, info)
      else channel.onOpened(info.sender, info.window, info.packetSize)
    },
    CHANNEL_OPEN_FAILURE(protocol, id, reason, description) {
      const channel = channels.get(id)
      if (channel === undefined) packageHandlers.CHANNEL_OPEN_FAILURE(protocol, id, reason, description)
      else channel.onRejected(description)
    },
    CHANNEL_WINDOW_ADJUST(protocol, id, bytes) {
      const channel = channels.get(id)
      if (channel === undefined) packageHandlers.CHANNEL_WINDOW_ADJUST(protocol, id, bytes)
      else channel.onWindow(bytes)
    },
    CHANNEL_DATA(protocol, id, data) {
      const channel = channels.get(id)
      if (channel === undefined) packageHandlers.CHANNEL_DATA(protocol, id, data)
      else channel.onData(data)
    },
    CHANNEL_EOF(protocol, id) {
      const channel = channels.get(id)
      if (channel === undefined) packageHandlers.CHANNEL_EOF(protocol, id)
      else channel.onEnd()
    },
    CHANNEL_CLOSE(protocol, id) {
      const channel = channels.get(id)
      if (channel === undefined) packageHandlers.CHANNEL_CLOSE(protocol, id)
      else channel.onClosed()
    },
    CHANNEL_REQUEST(protocol, id, type, wantsReply, data) {
      // OpenSSH sends none on forwarded channels that expects a reply.
      if (channels.has(id)) return
      packageHandlers.CHANNEL_REQUEST(protocol, id, type, wantsReply, data)
    },
  }
}
