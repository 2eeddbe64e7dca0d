/** The ciphers a client lists, best first, for each direction. */
export interface CipherLists {
  readonly toServer: readonly string[]
  readonly toClient: readonly string[]
}

const KEXINIT = 20
const COOKIE_BYTES = 16

/** RFC 4253 section 4.2: a line that introduces a client is no longer than this. */
const MAX_LINE_BYTES = 255

/** The largest packet the library takes. */
const MAX_PACKET_BYTES = 35_000

/**
 * Reads the lists out of the first bytes a client sends: the line that introduces it, then its key exchange message
 * (RFC 4253 section 7.1). Bytes that begin otherwise have none, and "incomplete" asks for more.
 */
export function parseCipherLists(bytes: Buffer): CipherLists | 'incomplete' | undefined {
  const line = bytes.indexOf('\n')
  if (line === -1) return bytes.length < MAX_LINE_BYTES ? 'incomplete' : undefined
  const packet = bytes.subarray(line + 1)
  if (packet.length < 6) return 'incomplete'
  const end = 4 + packet.readUInt32BE(0)
  if (end > MAX_PACKET_BYTES || packet[5] !== KEXINIT) return undefined

  const lists: string[][] = []
  let offset = 6 + COOKIE_BYTES
  // Key exchange and host keys come before the ciphers.
  while (lists.length < 4) {
    if (offset + 4 > end) return undefined
    if (offset + 4 > packet.length) return 'incomplete'
    const next = offset + 4 + packet.readUInt32BE(offset)
    if (next > end) return undefined
    if (next > packet.length) return 'incomplete'
    lists.push(packet.toString('latin1', offset + 4, next).split(','))
    offset = next
  }
  return { toServer: lists[2]!, toClient: lists[3]! }
}
