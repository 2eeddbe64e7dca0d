import { isIPv4, isIPv6 } from 'node:net'
import { canonicalAddress } from '../../values/cidr.ts'
import type { SocketAddresses } from './socket-addresses.ts'

/** The specification's limit of version 1, CRLF included. */
const MAX_V1_BYTES = 107
/** Version 2 with its TLVs. The format allows 64 KiB; no proxy sends near as much. */
const MAX_V2_BYTES = 4096

const V1_PREFIX = Buffer.from('PROXY ')
const V2_SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')
const V2_FIXED_BYTES = 16
const [LOCAL, PROXY] = [0x20, 0x21]
/** The byte of family and transport with the bytes of one address; TCP alone, since the listeners are TCP. */
const TCP_ADDRESS_BYTES: Readonly<Record<number, number>> = { 17: 4, 33: 16 }
/** Unspecified, and UNIX stream: the proxy knows no IP address of its client. */
const FAMILIES_WITHOUT_ADDRESS = new Set([0x00, 0x31])

/** The addresses in a PROXY protocol header, and where the bytes of the client begin. */
export interface ProxyProtocolHeader {
  readonly length: number
  /** Undefined when the proxy connects on its own behalf or does not know the client: LOCAL and UNKNOWN. */
  readonly addresses: SocketAddresses | undefined
}

/**
 * Parses the PROXY protocol header (HAProxy's specification, version 1 or 2) at the start of a connection. Strict: what
 * is not exactly a header is `invalid`, at the first byte that shows it. TLVs are skipped.
 */
export function parseProxyProtocol(bytes: Buffer): ProxyProtocolHeader | 'incomplete' | 'invalid' {
  if (startsLike(bytes, V1_PREFIX)) return parseV1(bytes)
  if (startsLike(bytes, V2_SIGNATURE)) return parseV2(bytes)
  return 'invalid'
}

/** Whether the bytes are a prefix of what is expected, or the other way round. */
function startsLike(bytes: Buffer, expected: Buffer): boolean {
  const length = Math.min(bytes.length, expected.length)
  return bytes.compare(expected, 0, length, 0, length) === 0
}

const V1_TCP = /^PROXY TCP([46]) ([0-9a-fA-F:.]+) ([0-9a-fA-F:.]+) (0|[1-9][0-9]{0,4}) (0|[1-9][0-9]{0,4})$/

function parseV1(bytes: Buffer): ProxyProtocolHeader | 'incomplete' | 'invalid' {
  const end = bytes.subarray(0, MAX_V1_BYTES).indexOf('\r\n')
  if (end === -1) return bytes.length < MAX_V1_BYTES ? 'incomplete' : 'invalid'
  const line = bytes.toString('latin1', 0, end)
  const length = end + 2
  // Whatever follows the word has to be ignored.
  if (/^PROXY UNKNOWN(?: |$)/.test(line)) return { length, addresses: undefined }
  const match = V1_TCP.exec(line)
  if (match === null) return 'invalid'
  const [, family, remote = '', local = '', remotePort, localPort] = match
  const isAddress = family === '4' ? isIPv4 : isIPv6
  if (!isAddress(remote) || !isAddress(local)) return 'invalid'
  if (Number(remotePort) > 65_535 || Number(localPort) > 65_535) return 'invalid'
  return {
    length,
    addresses: {
      remoteAddress: canonicalAddress(remote)!,
      remotePort: Number(remotePort),
      localAddress: canonicalAddress(local)!,
      localPort: Number(localPort),
    },
  }
}

function parseV2(bytes: Buffer): ProxyProtocolHeader | 'incomplete' | 'invalid' {
  const command = bytes[12]
  if (command === undefined) return 'incomplete'
  if (command !== LOCAL && command !== PROXY) return 'invalid'
  if (bytes.length < V2_FIXED_BYTES) return 'incomplete'
  const length = V2_FIXED_BYTES + bytes.readUInt16BE(14)
  if (length > MAX_V2_BYTES) return 'invalid'
  if (bytes.length < length) return 'incomplete'
  const family = bytes[13]!
  if (command === LOCAL || FAMILIES_WITHOUT_ADDRESS.has(family)) return { length, addresses: undefined }
  const size = TCP_ADDRESS_BYTES[family]
  if (size === undefined || length < V2_FIXED_BYTES + 2 * size + 4) return 'invalid'
  const ports = V2_FIXED_BYTES + 2 * size
  return {
    length,
    addresses: {
      remoteAddress: readAddress(bytes, V2_FIXED_BYTES, size),
      remotePort: bytes.readUInt16BE(ports),
      localAddress: readAddress(bytes, V2_FIXED_BYTES + size, size),
      localPort: bytes.readUInt16BE(ports + 2),
    },
  }
}

function readAddress(bytes: Buffer, offset: number, size: number): string {
  if (size === 4) return bytes.subarray(offset, offset + size).join('.')
  const groups = bytes.toString('hex', offset, offset + size).match(/.{4}/g)!
  return canonicalAddress(groups.join(':'))!
}
