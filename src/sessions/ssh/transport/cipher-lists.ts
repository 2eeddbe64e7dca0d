/** The ciphers in a client's KEXINIT, in order of preference, for each direction. */
export interface CipherLists {
  readonly toServer: readonly string[]
  readonly toClient: readonly string[]
}

const KEXINIT = 20
const COOKIE_BYTES = 16

/** RFC 4253 section 4.2: the maximum length of the identification string. */
const MAX_LINE_BYTES = 255

/** The largest packet the package accepts. */
const MAX_PACKET_BYTES = 35_000

/**
 * Parses the cipher lists from the first bytes of a client: its identification string, then KEXINIT (RFC 4253 section
 * 7.1). Returns undefined for other bytes, and "incomplete" when more are needed.
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
  // The lists of key exchange and host key algorithms precede the ciphers.
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
