import { isIPv4, isIPv6 } from 'node:net'

/** A range of addresses. IPv4-mapped IPv6 counts as IPv4, so that a client has one form. */
export interface Cidr {
  readonly family: 4 | 6
  /** The lowest address of the range as a number. */
  readonly base: bigint
  readonly bits: number
  /** The stored and displayed form: the input in lower case, with its prefix length. */
  readonly text: string
}

/** The address without the zone of a link-local address. */
export function stripZone(ip: string): string {
  const zone = ip.indexOf('%')
  return zone === -1 ? ip : ip.slice(0, zone)
}

/** An address as a number. IPv4-mapped IPv6 counts as IPv4. */
interface Address {
  readonly family: 4 | 6
  readonly value: bigint
}

/** The address parsed last: the rules of a policy ask for the same one in turn. */
let latest: { readonly text: string; readonly address: Address | undefined } = {
  text: '',
  address: undefined,
}

/** The address as a number; undefined unless it is a plain IPv4 or IPv6 address. */
export function parseAddress(text: string): Address | undefined {
  if (text !== latest.text) latest = { text, address: parse(text) }
  return latest.address
}

function parse(text: string): Address | undefined {
  if (isIPv4(text))
    return { family: 4, value: text.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n) }
  if (!isIPv6(text) || text.includes('%')) return undefined
  const value = parseIpv6(text)
  return value >> 32n === 0xffffn ? { family: 4, value: value & 0xffff_ffffn } : { family: 6, value }
}

function parseIpv6(text: string): bigint {
  const lastColon = text.lastIndexOf(':')
  const tail = text.slice(lastColon + 1)
  let colonForm = text
  if (tail.includes('.')) {
    const value = tail.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
    colonForm = `${text.slice(0, lastColon + 1)}${(value >>> 16).toString(16)}:${(value & 0xffff).toString(16)}`
  }
  const [head = '', rest] = colonForm.split('::')
  const front = head === '' ? [] : head.split(':')
  const back = rest === undefined || rest === '' ? [] : rest.split(':')
  const middle = rest === undefined ? [] : new Array<string>(8 - front.length - back.length).fill('0')
  return [...front, ...middle, ...back].reduce((sum, part) => (sum << 16n) | BigInt(`0x${part}`), 0n)
}

/** The error of a range that does not begin with its lowest address. */
export class HostBitsError extends Error {
  override name = 'HostBitsError'
}

/**
 * Parses `address/bits`, or a single address as a range of one. Throws a sentence for anything else, also when the
 * address is not the lowest of its range.
 */
export function parseCidr(text: string): Cidr {
  const match = /^([^/]+)(?:\/(0|[1-9][0-9]{0,2}))?$/.exec(text.trim())
  if (match === null)
    throw new Error(
      `"${text}" is not in CIDR notation; write an address with its mask, such as 10.0.0.0/8 or 2001:db8::/32.`,
    )
  const [, address = '', prefixLength] = match
  const parsed = parseAddress(address)
  if (parsed === undefined) throw new Error(`"${address}" is not an IPv4 or IPv6 address.`)
  const mapped = parsed.family === 4 && isIPv6(address)
  const width = parsed.family === 4 ? 32 : 128
  const mask = prefixLength ?? String(mapped ? 128 : width)
  const bits = mapped ? Number(mask) - 96 : Number(mask)
  if (bits > width || bits < 0)
    throw new Error(`/${mask} is not a mask of an ${mapped ? 'IPv4-mapped' : `IPv${parsed.family}`} address.`)
  const hostBits = BigInt(width - bits)
  if ((parsed.value >> hostBits) << hostBits !== parsed.value)
    throw new HostBitsError(`"${text}" has bits set below its mask; write the lowest address of the range.`)
  return { family: parsed.family, base: parsed.value, bits, text: `${address.toLowerCase()}/${mask}` }
}

/** The canonical form of a range, whatever its spelling: RFC 5952 for IPv6. */
export function formatCidr({ family, base, bits }: Cidr): string {
  return `${formatAddress({ family, value: base })}/${bits}`
}

/** The canonical form of an address, with IPv4-mapped IPv6 as IPv4; undefined for any other text. */
export function canonicalAddress(text: string): string | undefined {
  if (isIPv4(text)) return text
  const address = parseAddress(text)
  return address && formatAddress(address)
}

function formatAddress({ family, value }: Address): string {
  if (family === 4) return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join('.')
  const groups = Array.from({ length: 8 }, (_, group) =>
    ((value >> BigInt(112 - 16 * group)) & 0xffffn).toString(16),
  )
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
}
