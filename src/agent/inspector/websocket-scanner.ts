import { endianness } from 'node:os'
import { ByteQueue } from '../../base/io/byte-queue.ts'
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
const MAX_HEADER_BYTES = 14

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
  readonly #head = Buffer.alloc(MAX_HEADER_BYTES)
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
      offset = this.#current ? this.#readPayload(chunk, offset) : this.#readHeader(chunk, offset)
    }
  }

  #readHeader(chunk: Buffer, start: number): number {
    let offset = start
    while (offset < chunk.length) {
      this.#head[this.#headBytes++] = chunk[offset++]!
      if (this.#headBytes >= 2 && this.#headBytes === headLength(this.#head)) {
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
    const control = opcode >= 8
    const size = payloadSize(head)
    this.#headBytes = 0
    this.#fin = (first & 0x80) !== 0
    const invalid =
      (first & 0x30) !== 0 ||
      masked !== this.#masked ||
      !OPCODES.has(opcode) ||
      size > Number.MAX_SAFE_INTEGER ||
      (control && (!this.#fin || size > 125)) ||
      ((opcode === 0) !== (this.#message !== undefined) && !control)
    if (invalid) {
      this.#stopped = true
      this.#message = undefined
      this.#events.onInvalid()
      return
    }
    if (opcode === 0) this.#current = this.#message
    else {
      const compressed = (first & 0x40) !== 0
      this.#current = { opcode, fragments: 0, size: 0, compressed, stored: new ByteQueue() }
      if (!control) this.#message = this.#current
    }
    const current = this.#current!
    current.fragments++
    current.size += size
    this.#remaining = size
    this.#maskOffset = 0
    this.#mask = masked ? Buffer.from(head.subarray(headLength(head) - 4, headLength(head))) : undefined
    if (size === 0) this.#endFrame()
  }

  #readPayload(chunk: Buffer, offset: number): number {
    const current = this.#current!
    const end = Math.min(chunk.length, offset + this.#remaining)
    const limit = current.compressed ? MAX_COMPRESSED_BYTES : MAX_PAYLOAD_BYTES
    const accepted = Math.min(end - offset, limit - current.stored.length)
    if (accepted > 0) {
      current.stored.push(chunk.subarray(offset, offset + accepted))
      if (this.#mask) unmask(current.stored.bytes.subarray(-accepted), this.#mask, this.#maskOffset)
    }
    this.#maskOffset += end - offset
    this.#remaining -= end - offset
    if (this.#remaining === 0) this.#endFrame()
    return end
  }

  #endFrame(): void {
    const current = this.#current!
    this.#current = undefined
    if (!this.#fin) return
    if (current === this.#message) this.#message = undefined
    const { opcode, fragments, size, compressed } = current
    const payload = this.#copier.copy(current.stored.bytes)
    current.stored.clear()
    this.#events.onMessage({ opcode, fragments, size, compressed, payload })
  }
}

const OPCODES = new Set([0, 1, 2, 8, 9, 10])

/** The length of a frame header, derived from its first two bytes. */
function headLength(head: Buffer): number {
  const second = head[1]!
  const shortLength = second & 0x7f
  return 2 + (shortLength === 126 ? 2 : shortLength === 127 ? 8 : 0) + (second & 0x80 ? 4 : 0)
}

function payloadSize(head: Buffer): number {
  const shortLength = head[1]! & 0x7f
  if (shortLength === 126) return head.readUInt16BE(2)
  return shortLength === 127 ? Number(head.readBigUInt64BE(2)) : shortLength
}

/** Unmasks a chunk that begins at `offset` of the payload; long aligned chunks in 32-bit words. */
function unmask(chunk: Buffer, mask: Buffer, offset: number): void {
  let index = 0
  if (chunk.length >= 256 && chunk.byteOffset % 4 === 0) {
    const words = new Int32Array(chunk.buffer, chunk.byteOffset, chunk.length >> 2)
    const rotatedMask = Buffer.from([0, 1, 2, 3].map((shift) => mask[(offset + shift) & 3]!))
    const word = endianness() === 'LE' ? rotatedMask.readInt32LE() : rotatedMask.readInt32BE()
    for (let index = 0; index < words.length; index++) words[index]! ^= word
    index = words.length * 4
  }
  for (; index < chunk.length; index++) chunk[index]! ^= mask[(offset + index) & 3]!
}
