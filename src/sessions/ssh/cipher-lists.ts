/** The ciphers a client lists, best first, for each direction. */
export interface CipherLists {
  readonly toServer: readonly string[]
  readonly toClient: readonly string[]
}

const KEXINIT = 20
const COOKIE = 16

/** RFC 4253 section 4.2: a line that introduces a client is no longer than this. */
const LONGEST_LINE = 255

/** The largest packet the library takes. */
const LARGEST_PACKET = 35_000

/**
 * Reads the lists out of the first bytes a client sends: the line that introduces it, then its key exchange message
 * (RFC 4253 section 7.1). Bytes that begin otherwise have none, and "incomplete" asks for more.
 */
export function readCipherLists(bytes: Buffer): CipherLists | 'incomplete' | undefined {
  const line = bytes.indexOf('\n')
  if (line === -1) return bytes.length < LONGEST_LINE ? 'incomplete' : undefined
  const packet = bytes.subarray(line + 1)
  if (packet.length < 6) return 'incomplete'
  const end = 4 + packet.readUInt32BE(0)
  if (end > LARGEST_PACKET || packet[5] !== KEXINIT) return undefined

  const lists: string[][] = []
  let at = 6 + COOKIE
  // Key exchange and host keys come before the ciphers.
  while (lists.length < 4) {
    if (at + 4 > end) return undefined
    if (at + 4 > packet.length) return 'incomplete'
    const next = at + 4 + packet.readUInt32BE(at)
    if (next > end) return undefined
    if (next > packet.length) return 'incomplete'
    lists.push(packet.toString('latin1', at + 4, next).split(','))
    at = next
  }
  return { toServer: lists[2]!, toClient: lists[3]! }
}
