import {
  frameFault,
  frameHeadLength,
  isControlFrame,
  MAX_FRAME_HEAD_BYTES,
  Opcode,
  payloadLength,
  unmask,
} from '../../base/http/websocket-frame.ts'
import { ByteQueue } from '../../base/io/streams/byte-queue.ts'
import type { Copier } from './copier.ts'
import { MAX_PAYLOAD_BYTES } from './frame-log.ts'

/** A complete message or a control frame. The receiver owns the payload. */
export interface ScannedMessage {
  opcode: number
  fragments: number
  size: number
  /** Unmasked and truncated to the limit. */
  payload: Buffer
  /** RSV1 of the first frame: the payload is compressed. */
  compressed: boolean
}

/** Callbacks of the scanner of one direction. */
export interface WebSocketEvents {
  onMessage(message: ScannedMessage): void
  /** The data is not WebSocket; the scanner stops. */
  onInvalid(): void
}

/** Larger than the payload limit, since a truncated compressed message cannot be decoded. */
const MAX_COMPRESSED_BYTES = 65_536

interface Message {
  opcode: number
  fragments: number
  size: number
  compressed: boolean
  stored: ByteQueue
}

/**
 * Parses the messages of one direction of a WebSocket (RFC 6455 section 5) without changing or delaying it. It copies
 * nothing of a payload beyond the limit, so its cost is per frame.
 */
export class WebSocketScanner {
  readonly #events: WebSocketEvents
  readonly #masked: boolean
  readonly #copier: Copier
  /** The frame header received so far. */
  readonly #head = Buffer.alloc(MAX_FRAME_HEAD_BYTES)
  #headBytes = 0
  /** Payload bytes still to come, and the position within the mask. */
  #remaining = 0
  #maskOffset = 0
  #mask: Buffer | undefined
  #fin = false
  /** The fragmented message being assembled, and the message of the current frame. */
  #message: Message | undefined
  #current: Message | undefined
  #stopped = false

  constructor(masked: boolean, copier: Copier, events: WebSocketEvents) {
    this.#masked = masked
    this.#copier = copier
    this.#events = events
  }

  push(chunk: Buffer): void {
    for (let offset = 0; offset < chunk.length && !this.#stopped; ) {
      const current = this.#current
      offset = current ? this.#readPayload(current, chunk, offset) : this.#readHeader(chunk, offset)
    }
  }

  #readHeader(chunk: Buffer, start: number): number {
    let offset = start
    while (offset < chunk.length) {
      this.#head[this.#headBytes++] = chunk[offset++]!
      if (this.#headBytes >= 2 && this.#headBytes === frameHeadLength(this.#head[1]!)) {
        this.#beginFrame()
        return offset
      }
    }
    return offset
  }

  #beginFrame(): void {
    const head = this.#head
    const [first, second] = [head[0]!, head[1]!]
    const opcode = first & 0x0f
    const masked = (second & 0x80) !== 0
    const control = isControlFrame(opcode)
    const size = payloadLength(head)
    this.#headBytes = 0
    this.#fin = (first & 0x80) !== 0
    const invalid =
      (first & 0x30) !== 0 ||
      masked !== this.#masked ||
      frameFault(first, second) !== undefined ||
      size > Number.MAX_SAFE_INTEGER ||
      ((opcode === Opcode.continuation) !== (this.#message !== undefined) && !control)
    if (invalid) {
      this.#stopped = true
      this.#message = undefined
      this.#events.onInvalid()
      return
    }
    const compressed = (first & 0x40) !== 0
    const continued = opcode === Opcode.continuation ? this.#message : undefined
    const current = continued ?? { opcode, fragments: 0, size: 0, compressed, stored: new ByteQueue() }
    if (!control) this.#message = current
    this.#current = current
    current.fragments++
    current.size += size
    this.#remaining = size
    this.#maskOffset = 0
    const headLength = frameHeadLength(second)
    this.#mask = masked ? Buffer.from(head.subarray(headLength - 4, headLength)) : undefined
    if (size === 0) this.#endFrame(current)
  }

  #readPayload(current: Message, chunk: Buffer, offset: number): number {
    const end = Math.min(chunk.length, offset + this.#remaining)
    const limit = current.compressed ? MAX_COMPRESSED_BYTES : MAX_PAYLOAD_BYTES
    const accepted = Math.min(end - offset, limit - current.stored.length)
    if (accepted > 0) {
      current.stored.push(chunk.subarray(offset, offset + accepted))
      if (this.#mask) unmask(current.stored.bytes.subarray(-accepted), this.#mask, this.#maskOffset)
    }
    this.#maskOffset += end - offset
    this.#remaining -= end - offset
    if (this.#remaining === 0) this.#endFrame(current)
    return end
  }

  #endFrame(current: Message): void {
    this.#current = undefined
    if (!this.#fin) return
    if (current === this.#message) this.#message = undefined
    const { opcode, fragments, size, compressed } = current
    const payload = this.#copier.copy(current.stored.bytes)
    current.stored.clear()
    this.#events.onMessage({ opcode, fragments, size, compressed, payload })
  }
}
