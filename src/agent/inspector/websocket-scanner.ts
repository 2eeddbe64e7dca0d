import { endianness } from 'node:os'
import { ByteQueue } from '../../base/io/byte-queue.ts'
import type { Copier } from './copier.ts'
import { MOST_PAYLOAD } from './frame-log.ts'

/** A message whose frames have all come, or a control frame. The payload is the reader's to keep. */
export interface ScannedMessage {
  opcode: number
  fragments: number
  size: number
  /** Unmasked; cut when it is longer than the limit. */
  payload: Buffer
  /** The first frame said that an extension has changed the payload. */
  compressed: boolean
}

/** What the scanner of one direction tells. */
export interface WebSocketEvents {
  message(message: ScannedMessage): void
  /** The bytes are no WebSocket frames; nothing more is told. */
  broken(): void
}

/** As much of a compressed message is kept whole, as half of one cannot be decoded. */
const MOST_COMPRESSED = 65_536
const MOST_HEADER = 14

interface Message {
  opcode: number
  fragments: number
  size: number
  compressed: boolean
  kept: ByteQueue
}

/**
 * Finds messages in one direction of a WebSocket (RFC 6455 section 5) without changing or delaying a byte of it.
 * Of payloads beyond the limit it copies nothing, so its cost is per frame.
 */
export class WebSocketScanner {
  readonly #events: WebSocketEvents
  readonly #masked: boolean
  readonly #copier: Copier
  /** Bytes of a frame's head that have come so far. */
  readonly #head = Buffer.alloc(MOST_HEADER)
  #have = 0
  /** Bytes of the payload still to come, and where in the mask we are. */
  #left = 0
  #masks = 0
  #mask: Buffer | undefined
  #fin = false
  /** The message its fragments are gathered in, and the one the current frame belongs to. */
  #message: Message | undefined
  #current: Message | undefined
  #over = false

  constructor(masked: boolean, copier: Copier, events: WebSocketEvents) {
    this.#masked = masked
    this.#copier = copier
    this.#events = events
  }

  push(chunk: Buffer): void {
    for (let at = 0; at < chunk.length && !this.#over; ) {
      at = this.#current ? this.#payload(chunk, at) : this.#header(chunk, at)
    }
  }

  #header(chunk: Buffer, from: number): number {
    let at = from
    while (at < chunk.length) {
      this.#head[this.#have++] = chunk[at++]!
      if (this.#have >= 2 && this.#have === headLength(this.#head)) {
        this.#begin()
        return at
      }
    }
    return at
  }

  #begin(): void {
    const head = this.#head
    const [first, second] = [head[0]!, head[1]!]
    const opcode = first & 0x0f
    const masked = (second & 0x80) !== 0
    const control = opcode >= 8
    const size = sizeOf(head)
    this.#have = 0
    this.#fin = (first & 0x80) !== 0
    const nonsense =
      (first & 0x30) !== 0 ||
      masked !== this.#masked ||
      !KNOWN.has(opcode) ||
      size > Number.MAX_SAFE_INTEGER ||
      (control && (!this.#fin || size > 125)) ||
      ((opcode === 0) !== (this.#message !== undefined) && !control)
    if (nonsense) {
      this.#over = true
      this.#message = undefined
      this.#events.broken()
      return
    }
    if (opcode === 0) this.#current = this.#message
    else {
      const compressed = (first & 0x40) !== 0
      this.#current = { opcode, fragments: 0, size: 0, compressed, kept: new ByteQueue() }
      if (!control) this.#message = this.#current
    }
    const current = this.#current!
    current.fragments++
    current.size += size
    this.#left = size
    this.#masks = 0
    this.#mask = masked ? Buffer.from(head.subarray(headLength(head) - 4, headLength(head))) : undefined
    if (size === 0) this.#frameEnd()
  }

  #payload(chunk: Buffer, at: number): number {
    const current = this.#current!
    const end = Math.min(chunk.length, at + this.#left)
    const most = current.compressed ? MOST_COMPRESSED : MOST_PAYLOAD
    const kept = Math.min(end - at, most - current.kept.length)
    if (kept > 0) {
      current.kept.push(chunk.subarray(at, at + kept))
      if (this.#mask) unmask(current.kept.bytes.subarray(-kept), this.#mask, this.#masks)
    }
    this.#masks += end - at
    this.#left -= end - at
    if (this.#left === 0) this.#frameEnd()
    return end
  }

  #frameEnd(): void {
    const current = this.#current!
    this.#current = undefined
    if (!this.#fin) return
    if (current === this.#message) this.#message = undefined
    const { opcode, fragments, size, compressed } = current
    const payload = this.#copier.copy(current.kept.bytes)
    current.kept.clear()
    this.#events.message({ opcode, fragments, size, compressed, payload })
  }
}

const KNOWN = new Set([0, 1, 2, 8, 9, 10])

/** The length of a frame's head, known from its first two bytes. */
function headLength(head: Buffer): number {
  const second = head[1]!
  const short = second & 0x7f
  return 2 + (short === 126 ? 2 : short === 127 ? 8 : 0) + (second & 0x80 ? 4 : 0)
}

function sizeOf(head: Buffer): number {
  const short = head[1]! & 0x7f
  if (short === 126) return head.readUInt16BE(2)
  return short === 127 ? Number(head.readBigUInt64BE(2)) : short
}

/** Undoes the mask of a piece that begins so many bytes into the payload, in words where it is long enough. */
function unmask(piece: Buffer, mask: Buffer, begun: number): void {
  let at = 0
  if (piece.length >= 256 && piece.byteOffset % 4 === 0) {
    const words = new Int32Array(piece.buffer, piece.byteOffset, piece.length >> 2)
    const turned = Buffer.from([0, 1, 2, 3].map((index) => mask[(begun + index) & 3]!))
    const word = endianness() === 'LE' ? turned.readInt32LE() : turned.readInt32BE()
    for (let index = 0; index < words.length; index++) words[index]! ^= word
    at = words.length * 4
  }
  for (; at < piece.length; at++) piece[at]! ^= mask[(begun + at) & 3]!
}
