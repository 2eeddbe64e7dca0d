import { endianness } from 'node:os'

/**
 * The head of a WebSocket frame (RFC 6455 section 5.2), as both readers of frames parse it. The edge's
 * (`edge/modules/websocket-frames.ts`) is an endpoint: it takes masked frames only and no extension. The agent's
 * (`agent/inspector/websocket-scanner.ts`) watches both directions and shows compressed messages too.
 */
export const Opcode = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

/** Maximum payload of a control frame (RFC 6455 section 5.5). */
const MAX_CONTROL_PAYLOAD_BYTES = 125

/** The longest head: 64 bits of length and a mask. */
export const MAX_FRAME_HEAD_BYTES = 14

export function isControlFrame(opcode: number): boolean {
  return opcode >= Opcode.close
}

/** What is wrong with a frame that begins with these two bytes, whatever was negotiated; undefined when it is valid. */
export function frameFault(first: number, second: number): string | undefined {
  const opcode = first & 0x0f
  const control = isControlFrame(opcode)
  if (opcode > Opcode.pong || (opcode > Opcode.binary && !control)) return 'a frame has an unknown opcode'
  if (control && ((first & 0x80) === 0 || (second & 0x7f) > MAX_CONTROL_PAYLOAD_BYTES))
    return 'a control frame is malformed'
  return undefined
}

/** The length of a frame's head, from its second byte. */
export function frameHeadLength(second: number): number {
  const shortLength = second & 0x7f
  return 2 + (shortLength === 126 ? 2 : shortLength === 127 ? 8 : 0) + (second & 0x80 ? 4 : 0)
}

/** The length of a frame's payload, from its complete head; too large for an integer when the peer announces nonsense. */
export function payloadLength(head: Buffer): number {
  const shortLength = head[1]! & 0x7f
  if (shortLength === 126) return head.readUInt16BE(2)
  return shortLength === 127 ? head.readUInt32BE(2) * 2 ** 32 + head.readUInt32BE(6) : shortLength
}

/** The head of an unmasked, final frame. */
export function frameHead(opcode: number, length: number): Buffer {
  const first = 0x80 | opcode
  if (length <= 125) return Buffer.from([first, length])
  if (length <= 0xffff) return Buffer.from([first, 126, length >> 8, length & 0xff])
  const head = Buffer.alloc(10)
  head[0] = first
  head[1] = 127
  head.writeBigUInt64BE(BigInt(length), 2)
  return head
}

/** A close frame with a status code (RFC 6455 section 7.4). */
export function closeFrame(status: number): Buffer {
  const frame = Buffer.concat([frameHead(Opcode.close, 2), Buffer.alloc(2)])
  frame.writeUInt16BE(status, 2)
  return frame
}

/** Unmasks bytes that begin at `offset` of the payload, in place; long aligned ones in 32-bit words. */
export function unmask(bytes: Buffer, mask: Buffer, offset: number): void {
  let index = 0
  if (bytes.length >= 256 && bytes.byteOffset % 4 === 0) {
    const words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2)
    const rotatedMask = Buffer.from([0, 1, 2, 3].map((shift) => mask[(offset + shift) & 3]!))
    const word = endianness() === 'LE' ? rotatedMask.readInt32LE() : rotatedMask.readInt32BE()
    for (let index = 0; index < words.length; index++) words[index]! ^= word
    index = words.length * 4
  }
  for (; index < bytes.length; index++) bytes[index]! ^= mask[(offset + index) & 3]!
}
