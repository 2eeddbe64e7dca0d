import { ByteQueue } from '../../base/io/byte-queue.ts'
import { releaseBlock } from '../../base/io/detach-buffer.ts'
import { type ByteStream, type StreamSink, silentSink } from '../../base/io/stream.ts'

/** The most a client may send before it was read (P16). */
export const CHANNEL_WINDOW_BYTES = 256 * 1024

/** The most of a visitor's bytes that wait here for the client; the piece that reaches it is still taken. */
const MAX_BUFFERED_BYTES = 128 * 1024

/** Every implementation takes packets of this size (RFC 4253 section 6.1). */
const MAX_PACKET_BYTES = 32 * 1024

/** What a channel needs of its connection. */
export interface ChannelTransport {
  /** True when nothing more should be sent before `Channels` calls `flush`. */
  readonly congested: boolean
  /** Asks for `flush` once there is room again. */
  wait(channel: ForwardedChannel): void
  sendData(peerId: number, data: Buffer): void
  sendEnd(peerId: number): void
  sendClose(peerId: number): void
  sendGrant(peerId: number, bytes: number): void
  /** The channel is over on both sides. */
  forget(channel: ForwardedChannel): void
}

/**
 * One visitor's connection as a channel of the client's SSH connection. Bytes count against the window until they were
 * consumed, one direction can end while the other goes on, and what waits for a slow client is bounded.
 */
export class ForwardedChannel implements ByteStream {
  sink: StreamSink = silentSink
  readonly id: number
  readonly #transport: ChannelTransport
  /** Undefined until the client has connected to its service. */
  #peerId: number | undefined
  #sendWindow = 0
  #packetBytes = MAX_PACKET_BYTES
  #receiveWindow = CHANNEL_WINDOW_BYTES
  #consumed = 0
  readonly #buffer = new ByteQueue()
  #blocked = false
  #ended = false
  #endSent = false
  #remoteEnded = false
  #closeSent = false
  #closed = false

  constructor(id: number, carrier: ChannelTransport) {
    this.id = id
    this.#transport = carrier
  }

  write(chunk: Buffer): boolean {
    if (this.#closed || this.#ended) return false
    const unsent = this.#buffer.length === 0 ? this.#send(chunk) : chunk
    if (unsent.length > 0) {
      // The caller may use its memory again at once.
      this.#buffer.push(unsent)
      if (this.#transport.congested) this.#transport.wait(this)
    }
    this.#blocked ||= this.#buffer.length >= MAX_BUFFERED_BYTES
    return !this.#blocked
  }

  end(): void {
    if (this.#closed || this.#ended) return
    this.#ended = true
    this.#sendEndIfDrained()
  }

  reset(error?: Error): void {
    if (this.#closed) return
    const reason = error ?? new Error('The connection was reset.')
    this.#sendClose()
    this.#close()
    setImmediate(() => this.sink.onClose(reason))
  }

  consumed(bytes: number): void {
    this.#consumed += bytes
    if (this.#consumed < CHANNEL_WINDOW_BYTES / 2 || this.#closed || this.#remoteEnded) return
    this.#receiveWindow += this.#consumed
    this.#transport.sendGrant(this.#peerId!, this.#consumed)
    this.#consumed = 0
  }

  /** The client has connected to its service. */
  onOpened(peerId: number, window: number, packet: number): void {
    if (this.#peerId !== undefined) return
    this.#peerId = peerId
    this.#sendWindow = window
    this.#packetBytes = Math.min(Math.max(packet, 1), MAX_PACKET_BYTES)
    if (this.#closed) this.#sendClose()
    else this.flush()
  }

  /** The client could not connect. */
  onRejected(reason: string): void {
    this.onLost(new Error(`The SSH client could not connect to its service: ${reason}`))
  }

  onWindow(bytes: number): void {
    // RFC 4254 section 5.2: a window never grows beyond this.
    this.#sendWindow = Math.min(this.#sendWindow + bytes, 2 ** 32 - 1)
    this.flush()
  }

  onData(data: Buffer): void {
    if (this.#closed || this.#remoteEnded || this.#peerId === undefined) return
    if (data.length > this.#receiveWindow) {
      this.reset(new Error('The SSH client sent more than its window.'))
      return
    }
    this.#receiveWindow -= data.length
    this.sink.onData(data)
    // It came as a packet of its own, with nothing else in its memory.
    releaseBlock(data)
  }

  onEnd(): void {
    if (this.#closed || this.#remoteEnded) return
    this.#remoteEnded = true
    this.sink.onEnd()
    this.#sendEndIfDrained()
  }

  onClosed(): void {
    this.#sendClose()
    this.#transport.forget(this)
    if (this.#closed) return
    this.#close()
    // A service that has said all it had to say may well close without hearing the visitor out.
    this.sink.onClose(this.#remoteEnded ? undefined : new Error('The SSH client closed the channel.'))
  }

  /** The connection is gone, or the channel never came to be. */
  onLost(error: Error): void {
    this.#transport.forget(this)
    this.#closeSent = true
    if (this.#closed) return
    this.#close()
    this.sink.onClose(error)
  }

  /** Sends what waits, as far as the window and the connection allow. */
  flush(): void {
    if (this.#buffer.length > 0) {
      const unsent = this.#send(this.#buffer.bytes)
      this.#buffer.drop(this.#buffer.length - unsent.length)
      if (this.#buffer.length > 0 && this.#transport.congested) this.#transport.wait(this)
    }
    this.#sendEndIfDrained()
    if (!this.#blocked || this.#closed || this.#buffer.length > MAX_BUFFERED_BYTES / 2) return
    this.#blocked = false
    this.sink.onDrain()
  }

  /** Sends the beginning of a piece and answers with what could not be sent. */
  #send(chunk: Buffer): Buffer {
    let offset = 0
    while (offset < chunk.length && this.#peerId !== undefined && this.#sendWindow > 0) {
      if (this.#transport.congested) break
      const size = Math.min(chunk.length - offset, this.#sendWindow, this.#packetBytes)
      this.#sendWindow -= size
      this.#transport.sendData(this.#peerId, chunk.subarray(offset, offset + size))
      offset += size
    }
    return chunk.subarray(offset)
  }

  #sendEndIfDrained(): void {
    if (this.#peerId === undefined || this.#closed || !this.#ended || this.#buffer.length > 0) return
    if (!this.#endSent) {
      this.#endSent = true
      this.#transport.sendEnd(this.#peerId)
    }
    if (this.#remoteEnded) this.#sendClose()
  }

  #sendClose(): void {
    if (this.#closeSent || this.#peerId === undefined) return
    this.#closeSent = true
    this.#transport.sendClose(this.#peerId)
  }

  #close(): void {
    this.#closed = true
    this.#buffer.clear()
  }
}
