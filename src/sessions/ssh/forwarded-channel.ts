import { ByteQueue } from '../../base/io/byte-queue.ts'
import { releaseBlock } from '../../base/io/detach-buffer.ts'
import { type ByteStream, type StreamSink, silentSink } from '../../base/io/stream.ts'

/** The most a client may send before it was read (P16). */
export const WINDOW = 256 * 1024

/** The most of a visitor's bytes that wait here for the client; the piece that reaches it is still taken. */
const MOST_WAITING = 128 * 1024

/** Every implementation takes packets of this size (RFC 4253 section 6.1). */
const PACKET = 32 * 1024

/** What a channel needs of its connection. */
export interface Carrier {
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
  readonly #carrier: Carrier
  /** Undefined until the client has connected to its service. */
  #peerId: number | undefined
  #peerWindow = 0
  #packet = PACKET
  #window = WINDOW
  #consumed = 0
  readonly #waiting = new ByteQueue()
  #blocked = false
  #ended = false
  #endSent = false
  #endSeen = false
  #closeSent = false
  #closed = false

  constructor(id: number, carrier: Carrier) {
    this.id = id
    this.#carrier = carrier
  }

  write(chunk: Buffer): boolean {
    if (this.#closed || this.#ended) return false
    const rest = this.#waiting.length === 0 ? this.#send(chunk) : chunk
    if (rest.length > 0) {
      // The caller may use its memory again at once.
      this.#waiting.push(rest)
      if (this.#carrier.congested) this.#carrier.wait(this)
    }
    this.#blocked ||= this.#waiting.length >= MOST_WAITING
    return !this.#blocked
  }

  end(): void {
    if (this.#closed || this.#ended) return
    this.#ended = true
    this.#finish()
  }

  reset(error?: Error): void {
    if (this.#closed) return
    const reason = error ?? new Error('The connection was reset.')
    this.#sayClosed()
    this.#over()
    setImmediate(() => this.sink.onClose(reason))
  }

  consumed(bytes: number): void {
    this.#consumed += bytes
    if (this.#consumed < WINDOW / 2 || this.#closed || this.#endSeen) return
    this.#window += this.#consumed
    this.#carrier.sendGrant(this.#peerId!, this.#consumed)
    this.#consumed = 0
  }

  /** The client has connected to its service. */
  onOpened(peerId: number, window: number, packet: number): void {
    if (this.#peerId !== undefined) return
    this.#peerId = peerId
    this.#peerWindow = window
    this.#packet = Math.min(Math.max(packet, 1), PACKET)
    if (this.#closed) this.#sayClosed()
    else this.flush()
  }

  /** The client could not connect. */
  onRefused(reason: string): void {
    this.onLost(new Error(`The SSH client could not connect to its service: ${reason}`))
  }

  onWindow(bytes: number): void {
    // RFC 4254 section 5.2: a window never grows beyond this.
    this.#peerWindow = Math.min(this.#peerWindow + bytes, 2 ** 32 - 1)
    this.flush()
  }

  onData(data: Buffer): void {
    if (this.#closed || this.#endSeen || this.#peerId === undefined) return
    if (data.length > this.#window) {
      this.reset(new Error('The SSH client sent more than its window.'))
      return
    }
    this.#window -= data.length
    this.sink.onData(data)
    // It came as a packet of its own, with nothing else in its memory.
    releaseBlock(data)
  }

  onEnd(): void {
    if (this.#closed || this.#endSeen) return
    this.#endSeen = true
    this.sink.onEnd()
    this.#finish()
  }

  onClosed(): void {
    this.#sayClosed()
    this.#carrier.forget(this)
    if (this.#closed) return
    this.#over()
    // A service that has said all it had to say may well close without hearing the visitor out.
    this.sink.onClose(this.#endSeen ? undefined : new Error('The SSH client closed the channel.'))
  }

  /** The connection is gone, or the channel never came to be. */
  onLost(error: Error): void {
    this.#carrier.forget(this)
    this.#closeSent = true
    if (this.#closed) return
    this.#over()
    this.sink.onClose(error)
  }

  /** Sends what waits, as far as the window and the connection allow. */
  flush(): void {
    if (this.#waiting.length > 0) {
      const rest = this.#send(this.#waiting.bytes)
      this.#waiting.drop(this.#waiting.length - rest.length)
      if (this.#waiting.length > 0 && this.#carrier.congested) this.#carrier.wait(this)
    }
    this.#finish()
    if (!this.#blocked || this.#closed || this.#waiting.length > MOST_WAITING / 2) return
    this.#blocked = false
    this.sink.onDrain()
  }

  /** Sends the beginning of a piece and answers with what could not be sent. */
  #send(chunk: Buffer): Buffer {
    let at = 0
    while (at < chunk.length && this.#peerId !== undefined && this.#peerWindow > 0) {
      if (this.#carrier.congested) break
      const size = Math.min(chunk.length - at, this.#peerWindow, this.#packet)
      this.#peerWindow -= size
      this.#carrier.sendData(this.#peerId, chunk.subarray(at, at + size))
      at += size
    }
    return chunk.subarray(at)
  }

  #finish(): void {
    if (this.#peerId === undefined || this.#closed || !this.#ended || this.#waiting.length > 0) return
    if (!this.#endSent) {
      this.#endSent = true
      this.#carrier.sendEnd(this.#peerId)
    }
    if (this.#endSeen) this.#sayClosed()
  }

  #sayClosed(): void {
    if (this.#closeSent || this.#peerId === undefined) return
    this.#closeSent = true
    this.#carrier.sendClose(this.#peerId)
  }

  #over(): void {
    this.#closed = true
    this.#waiting.clear()
  }
}
