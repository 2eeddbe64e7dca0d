import {
  frameFault,
  frameHead,
  frameHeadLength,
  isControlFrame,
  Opcode,
  payloadLength,
  unmask,
} from '../../base/http/websocket-frame.ts'

/** Receives what a frame reader parses. */
export interface FrameHandlers {
  /** Unmasked bytes of a message. */
  onPayload(bytes: Buffer): void
  onPing(payload: Buffer): void
  onClose(): void
}

/** The head of an unmasked, final binary frame. */
export function binaryFrameHead(length: number): Buffer {
  return frameHead(Opcode.binary, length)
}

export function pongFrame(payload: Buffer): Buffer {
  return Buffer.concat([frameHead(Opcode.pong, payload.length), payload])
}

/**
 * Parses a client's WebSocket frames from a byte stream. Payload is passed on as it arrives, regardless of frame and
 * message boundaries.
 */
export class FrameReader {
  readonly #handlers: FrameHandlers
  /** An incomplete frame head or control frame; the rest of a frame is never buffered. */
  #pending = Buffer.alloc(0)
  #opcode = 0
  #remaining = 0
  readonly #mask = Buffer.alloc(4)
  #maskOffset = 0
  #inPayload = false

  constructor(events: FrameHandlers) {
    this.#handlers = events
  }

  /** Parses bytes. Returns what is wrong with them, undefined when they are valid. */
  push(bytes: Buffer): string | undefined {
    let rest = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes])
    this.#pending = Buffer.alloc(0)
    while (rest.length > 0 || (this.#inPayload && this.#remaining === 0)) {
      if (!this.#inPayload) {
        const size = this.#readHead(rest)
        if (typeof size === 'string') return size
        if (size === 0) {
          this.#pending = Buffer.from(rest)
          return undefined
        }
        rest = rest.subarray(size)
      } else {
        const size = this.#readPayload(rest)
        if (size === -1) {
          this.#pending = Buffer.from(rest)
          return undefined
        }
        rest = rest.subarray(size)
      }
    }
    return undefined
  }

  /** Returns the length of the head, 0 while it is incomplete. */
  #readHead(bytes: Buffer): number | string {
    if (bytes.length < 2) return 0
    const first = bytes[0]!
    const second = bytes[1]!
    if ((first & 0x70) !== 0) return 'a frame uses an extension that was not negotiated'
    // RFC 6455 section 5.1: a client masks everything it sends.
    if ((second & 0x80) === 0) return 'a frame is not masked'
    const fault = frameFault(first, second)
    if (fault !== undefined) return fault
    const size = frameHeadLength(second)
    if (bytes.length < size) return 0
    this.#remaining = payloadLength(bytes)
    if (this.#remaining > Number.MAX_SAFE_INTEGER) return 'a frame is too long'
    bytes.copy(this.#mask, 0, size - 4, size)
    this.#maskOffset = 0
    this.#opcode = first & 0x0f
    this.#inPayload = true
    return size
  }

  /** Returns the number of bytes consumed; -1 while a control frame is incomplete. */
  #readPayload(bytes: Buffer): number {
    const control = isControlFrame(this.#opcode)
    if (control && bytes.length < this.#remaining) return -1
    const size = Math.min(this.#remaining, bytes.length)
    // Copied: the bytes belong to the socket.
    const payload = Buffer.from(bytes.subarray(0, size))
    unmask(payload, this.#mask, this.#maskOffset)
    this.#maskOffset = (this.#maskOffset + size) & 3
    this.#remaining -= size
    if (this.#remaining === 0) this.#inPayload = false
    if (!control) {
      if (size > 0) this.#handlers.onPayload(payload)
    } else if (this.#opcode === Opcode.ping) this.#handlers.onPing(payload)
    else if (this.#opcode === Opcode.close) this.#handlers.onClose()
    return size
  }
}
