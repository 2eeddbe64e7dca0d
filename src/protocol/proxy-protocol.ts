import { isIPv4, isIPv6 } from 'node:net'
import { stripZone } from '../base/values/cidr.ts'

const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')
const VERSION_2_PROXY = 0x21
const TCP_OVER_IPV4 = 0x11
const TCP_OVER_IPV6 = 0x21
const UNSPECIFIED = 0x00

interface Address {
  ip: string
  port: number
}

/**
 * The PROXY protocol header (HAProxy's specification, version 1 or 2) with the client's address. Addresses that cannot be
 * expressed are sent as unknown.
 */
export function proxyProtocolHeader(version: 1 | 2, client: string, server: string): Buffer {
  let from = parseAddress(client)
  let to = parseAddress(server)
  // Both addresses must have the same family: a mixed pair is written as IPv6.
  if (from !== undefined && to !== undefined && isIPv4(from.ip) !== isIPv4(to.ip)) {
    from = toIpv6(from)
    to = toIpv6(to)
  }
  return version === 1 ? formatV1(from, to) : encodeV2(from, to)
}

function formatV1(from: Address | undefined, to: Address | undefined): Buffer {
  if (from === undefined || to === undefined) return Buffer.from('PROXY UNKNOWN\r\n')
  const family = isIPv4(from.ip) ? 'TCP4' : 'TCP6'
  return Buffer.from(`PROXY ${family} ${from.ip} ${to.ip} ${from.port} ${to.port}\r\n`)
}

function encodeV2(from: Address | undefined, to: Address | undefined): Buffer {
  const complete = from !== undefined && to !== undefined
  const addresses = complete ? [addressBytes(from.ip), addressBytes(to.ip)] : []
  const size = addresses.reduce((sum, bytes) => sum + bytes.length, complete ? 4 : 0)
  const fixed = Buffer.alloc(4)
  fixed[0] = VERSION_2_PROXY
  fixed[1] = complete ? (isIPv4(from.ip) ? TCP_OVER_IPV4 : TCP_OVER_IPV6) : UNSPECIFIED
  fixed.writeUInt16BE(size, 2)
  if (!complete) return Buffer.concat([SIGNATURE, fixed])
  const ports = Buffer.alloc(4)
  ports.writeUInt16BE(from.port, 0)
  ports.writeUInt16BE(to.port, 2)
  return Buffer.concat([SIGNATURE, fixed, ...addresses, ports])
}

/** Parses `ip:port` or `[ip]:port`; an IPv4-mapped IPv6 address becomes IPv4. */
function parseAddress(text: string): Address | undefined {
  const colon = text.lastIndexOf(':')
  const ip = stripZone(
    text
      .slice(0, colon)
      .replace(/^\[|\]$/g, '')
      .replace(/^::ffff:(?=\d+\.)/i, ''),
  )
  const port = Number(text.slice(colon + 1))
  if ((!isIPv4(ip) && !isIPv6(ip)) || !Number.isInteger(port) || port < 0 || port > 65_535) return undefined
  return { ip, port }
}

function toIpv6(address: Address): Address {
  return isIPv4(address.ip) ? { ...address, ip: `::ffff:${address.ip}` } : address
}

function addressBytes(ip: string): Buffer {
  if (isIPv4(ip)) return Buffer.from(ip.split('.').map(Number))
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(ip)
  const text = dotted === null ? ip : `${dotted[1]}${dottedGroups(dotted[2]!)}`
  const [head, tail] = text.split('::') as [string, string | undefined]
  const headGroups = head === '' ? [] : head.split(':')
  const tailGroups = tail === undefined || tail === '' ? [] : tail.split(':')
  const groups =
    tail === undefined
      ? headGroups
      : [...headGroups, ...Array(8 - headGroups.length - tailGroups.length).fill('0'), ...tailGroups]
  const bytes = Buffer.alloc(16)
  groups.forEach((group, index) => {
    bytes.writeUInt16BE(Number.parseInt(group, 16), index * 2)
  })
  return bytes
}

function dottedGroups(dotted: string): string {
  const [a, b, c, d] = dotted.split('.').map(Number) as [number, number, number, number]
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
}
