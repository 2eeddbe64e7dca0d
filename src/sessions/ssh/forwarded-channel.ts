import { detachBackingStore } from '../../base/io/memory/detach-buffer.ts'
import { ByteQueue } from '../../base/io/streams/byte-queue.ts'
import { type ByteStream, type StreamSink, silentSink } from '../../base/io/streams/stream.ts'
import { WINDOW, type WindowGrowth, WindowTuner } from '../../protocol/index.ts'

/** The initial receive window: what the SSH client may send ahead of `consumed` (P16). */
export const CHANNEL_WINDOW_BYTES = WINDOW

/** Consumed bytes are granted back in batches of this part of the window. */
const GRANT_BATCH = 1 / 4

/** High-water mark of bytes buffered for the SSH client; the chunk that crosses it is still accepted. */
const MAX_BUFFERED_BYTES = 128 * 1024

/** Every implementation accepts packets of this size (RFC 4253 section 6.1). */
const MAX_PACKET_BYTES = 32 * 1024

/** The connection of a channel. */
export interface ChannelTransport {
  /** True when the channel must not send until `flush`. */
  readonly congested: boolean
  /** Sizes the receive windows of the connection's channels; without it they keep their initial size. */
  readonly windowGrowth?: WindowGrowth | undefined
  /** Requests `flush` once the connection has room. */
  wait(channel: ForwardedChannel): void
  sendData(peerId: number, data: Buffer): void
  sendEnd(peerId: number): void
  sendClose(peerId: number): void
  sendWindowAdjust(peerId: number, bytes: number): void
  /** The channel is closed on both sides. */
  remove(channel: ForwardedChannel): void
}

/** The SSH client's end of an open channel. */
interface Peer {
  readonly id: number
  /** What it still accepts. */
  window: number
  readonly packetBytes: number
}

/**
 * One proxied connection as a channel of the SSH connection. Received bytes count against the window until consumed, each
 * direction ends on its own, and the buffer for a slow SSH client is bounded.
 */
export class ForwardedChannel implements ByteStream {
  sink: StreamSink = silentSink
  readonly id: number
  readonly #transport: ChannelTransport
  /** Undefined until the SSH client has connected to its upstream. */
  #peer: Peer | undefined
  #receiveWindow = CHANNEL_WINDOW_BYTES
  /** The size of the receive window when all of it is granted. */
  #windowSize = CHANNEL_WINDOW_BYTES
  readonly #windowTuner = new WindowTuner()
  #consumed = 0
  readonly #buffer = new ByteQueue()
  #blocked = false
  #ended = false
  #endSent = false
  #remoteEnded = false
  #closeSent = false
  #closed = false

  constructor(id: number, transport: ChannelTransport) {
    this.id = id
    this.#transport = transport
    transport.windowGrowth?.onOpened()
  }

  write(chunk: Buffer): boolean {
    if (this.#closed || this.#ended) return false
    const unsent = this.#buffer.length === 0 ? this.#send(chunk) : chunk
    if (unsent.length > 0) {
      // Copied by `push`: the caller may reuse its memory at once.
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
    // EOF before CLOSE, so that a client that waits for the end of its input sees one.
    this.end()
    this.#abort(error ?? new Error('The connection was reset.'))
  }

  consumed(bytes: number): void {
    this.#consumed += bytes
    if (this.#consumed < this.#windowSize * GRANT_BATCH || this.#closed || this.#remoteEnded) return
    if (this.#peer === undefined) return
    const growth = this.#transport.windowGrowth
    const change =
      growth === undefined ? 0 : this.#windowTuner.resize(growth, this.#windowSize, this.#consumed)
    const increment = this.#consumed + change
    this.#windowSize += change
    this.#consumed = 0
    if (increment === 0) return
    this.#receiveWindow += increment
    this.#transport.sendWindowAdjust(this.#peer.id, increment)
  }

  /** The SSH client has connected to its upstream. */
  onOpened(peerId: number, window: number, packet: number): void {
    if (this.#peer !== undefined) return
    this.#peer = { id: peerId, window, packetBytes: Math.min(Math.max(packet, 1), MAX_PACKET_BYTES) }
    if (this.#closed) this.#sendClose()
    else this.flush()
  }

  /** The SSH client could not connect to its upstream. */
  onRejected(reason: string): void {
    this.onLost(new Error(`The SSH client could not connect to its service: ${reason}`))
  }

  onWindow(bytes: number): void {
    if (this.#peer === undefined) return
    // RFC 4254 section 5.2: a window never grows beyond this.
    this.#peer.window = Math.min(this.#peer.window + bytes, 2 ** 32 - 1)
    this.flush()
  }

  onData(data: Buffer): void {
    if (this.#closed || this.#remoteEnded || this.#peer === undefined) return
    if (data.length > this.#receiveWindow) {
      this.#abort(new Error('The SSH client sent more than its window.'))
      return
    }
    this.#receiveWindow -= data.length
    this.sink.onData(data)
    // The packet has its own backing store, with nothing else in it.
    detachBackingStore(data)
  }

  onEnd(): void {
    if (this.#closed || this.#remoteEnded) return
    this.#remoteEnded = true
    this.sink.onEnd()
    this.#sendEndIfDrained()
  }

  onClosed(): void {
    this.#sendClose()
    this.#transport.remove(this)
    if (this.#closed) return
    this.#close()
    // After EOF the upstream may close without reading the rest of the request.
    this.sink.onClose(this.#remoteEnded ? undefined : new Error('The SSH client closed the channel.'))
  }

  /** The connection closed, or the channel was never opened. */
  onLost(error: Error): void {
    this.#transport.remove(this)
    this.#closeSent = true
    if (this.#closed) return
    this.#close()
    this.sink.onClose(error)
  }

  /** Sends buffered bytes as far as the window and the connection allow. */
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

  /** Sends what the window allows and returns the rest. */
  #send(chunk: Buffer): Buffer {
    const peer = this.#peer
    if (peer === undefined) return chunk
    let offset = 0
    while (offset < chunk.length && peer.window > 0) {
      if (this.#transport.congested) break
      const size = Math.min(chunk.length - offset, peer.window, peer.packetBytes)
      peer.window -= size
      this.#transport.sendData(peer.id, chunk.subarray(offset, offset + size))
      offset += size
    }
    return chunk.subarray(offset)
  }

  #sendEndIfDrained(): void {
    if (this.#peer === undefined || this.#closed || !this.#ended || this.#buffer.length > 0) return
    if (!this.#endSent) {
      this.#endSent = true
      this.#transport.sendEnd(this.#peer.id)
    }
    if (this.#remoteEnded) this.#sendClose()
  }

  #abort(error: Error): void {
    if (this.#closed) return
    this.#sendClose()
    this.#close()
    setImmediate(() => this.sink.onClose(error))
  }

  #sendClose(): void {
    if (this.#closeSent || this.#peer === undefined) return
    this.#closeSent = true
    this.#transport.sendClose(this.#peer.id)
  }

  #close(): void {
    this.#closed = true
    this.#buffer.clear()
    this.#transport.windowGrowth?.onClosed(this.#windowSize)
  }
}
