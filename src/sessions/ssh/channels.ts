import type { Socket } from 'node:net'
import { fanOut, type OnReceiverError } from '../../base/fan-out.ts'
import { TunnelBusy } from '../tunnel.ts'
import { type Carrier, ForwardedChannel, WINDOW } from './forwarded-channel.ts'
import type { Handlers, IncomingClient, Protocol } from './ssh2.ts'

/** Far above the ids the library gives to the channels that clients open. */
const FIRST_ID = 2 ** 30

/** OpenSSH's client needs a descriptor for each, of which it usually has 1024. */
const MOST_CHANNELS = 500

const PACKET = 32 * 1024

/** Bytes all channels of a connection together may have on their way into its socket. */
const MOST_ON_THE_WAY = 256 * 1024

/** This much is written before the turn ends, so that a bulk transfer keeps both sides busy. */
const GATHER = 64 * 1024

/** The channels the gateway opens in one client's connection. */
export class Channels implements Carrier {
  readonly #protocol: Protocol
  readonly #socket: Socket
  readonly #channels = new Map<number, ForwardedChannel>()
  readonly #waiting = new Set<ForwardedChannel>()
  readonly #onError: OnReceiverError
  #nextId = FIRST_ID
  #corked = false
  #over = false

  constructor(client: IncomingClient, socket: Socket, onError: OnReceiverError) {
    this.#onError = onError
    this.#protocol = client._protocol
    this.#socket = socket
    takeOver(client._protocol._handlers, this.#channels)
    socket.on('drain', () => this.#flush())
    client.on('rekey', () => this.#flush())
  }

  get size(): number {
    return this.#channels.size
  }

  get congested(): boolean {
    // While keys are exchanged the library would queue without limit.
    return this.#protocol._kexinit !== undefined || this.#socket.writableLength > MOST_ON_THE_WAY
  }

  /** Opens a channel for a visitor of a forward; throws `TunnelBusy` when the client has as many as it can bear. */
  open(from: {
    boundAddr: string
    boundPort: number
    remoteAddr: string
    remotePort: number
  }): ForwardedChannel {
    if (this.#over) throw new Error('The SSH connection is over.')
    if (this.#channels.size >= MOST_CHANNELS)
      throw new TunnelBusy(`The SSH client has ${MOST_CHANNELS} connections open.`)
    const channel = new ForwardedChannel(this.#nextId++, this)
    this.#channels.set(channel.id, channel)
    this.#cork()
    this.#protocol.forwardedTcpip(channel.id, WINDOW, PACKET, from)
    return channel
  }

  /** The connection is gone. */
  close(error: Error): void {
    this.#over = true
    fanOut([...this.#channels.values()], (channel) => channel.onLost(error), this.#onError)
  }

  wait(channel: ForwardedChannel): void {
    this.#waiting.add(channel)
  }

  sendData(peerId: number, data: Buffer): void {
    this.#say(() => this.#protocol.channelData(peerId, data))
  }

  sendEnd(peerId: number): void {
    this.#say(() => this.#protocol.channelEOF(peerId))
  }

  sendClose(peerId: number): void {
    this.#say(() => this.#protocol.channelClose(peerId))
  }

  sendGrant(peerId: number, bytes: number): void {
    this.#say(() => this.#protocol.channelWindowAdjust(peerId, bytes))
  }

  forget(channel: ForwardedChannel): void {
    this.#channels.delete(channel.id)
    this.#waiting.delete(channel)
  }

  #say(message: () => void): void {
    if (this.#over) return
    this.#cork()
    message()
    if (this.#socket.writableLength >= GATHER) this.#uncork()
  }

  /** The library writes each packet in pieces: all packets of a turn together take one system call. */
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

  /** In turn, so that no channel waits for another one's bulk. */
  #flush(): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    fanOut(waiting, (channel) => channel.flush(), this.#onError)
  }
}

/** Leads messages about our own channels to them; all others go on to the library. */
function takeOver(handlers: Handlers, channels: ReadonlyMap<number, ForwardedChannel>): void {
  const library = { ...handlers }
  const own: Handlers = {
    CHANNEL_OPEN_CONFIRMATION(protocol, info) {
      const channel = channels.get(info.recipient)
      if (channel === undefined) library.CHANNEL_OPEN_CONFIRMATION(protocol, info)
      else channel.onOpened(info.sender, info.window, info.packetSize)
    },
    CHANNEL_OPEN_FAILURE(protocol, id, reason, description) {
      const channel = channels.get(id)
      if (channel === undefined) library.CHANNEL_OPEN_FAILURE(protocol, id, reason, description)
      else channel.onRefused(description)
    },
    CHANNEL_WINDOW_ADJUST(protocol, id, bytes) {
      const channel = channels.get(id)
      if (channel === undefined) library.CHANNEL_WINDOW_ADJUST(protocol, id, bytes)
      else channel.onWindow(bytes)
    },
    CHANNEL_DATA(protocol, id, data) {
      const channel = channels.get(id)
      if (channel === undefined) library.CHANNEL_DATA(protocol, id, data)
      else channel.onData(data)
    },
    CHANNEL_EOF(protocol, id) {
      const channel = channels.get(id)
      if (channel === undefined) library.CHANNEL_EOF(protocol, id)
      else channel.onEnd()
    },
    CHANNEL_CLOSE(protocol, id) {
      const channel = channels.get(id)
      if (channel === undefined) library.CHANNEL_CLOSE(protocol, id)
      else channel.onClosed()
    },
    CHANNEL_REQUEST(protocol, id, type, wantsReply, data) {
      // OpenSSH sends none on such channels, and asks for no answer that could be missed.
      if (channels.has(id)) return
      library.CHANNEL_REQUEST(protocol, id, type, wantsReply, data)
    },
  }
  Object.assign(handlers, own)
}
