import { isIPv6 } from 'node:net'
import { type Cidr, parseAddress, parseCidr } from '../values/cidr.ts'

// The IANA registry of special-purpose IPv4 addresses, the 6to4 relays, and the one public address of a cloud's (Azure's)
// metadata services; those of other clouds are link-local or private.
const SPECIAL_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
].map(parseCidr)

// Only this block of IPv6 is allocated for public use: loopback, private, link-local, multicast, mapped IPv4 and the
// NAT64 prefixes all lie outside it.
const GLOBAL_V6 = parseCidr('2000::/3')

// Special-purpose ranges inside it: Teredo and other protocol assignments, two for documentation, 6to4.
const SPECIAL_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'].map(parseCidr)

/** Whether an address lies in a range; false for anything but a plain address. */
export function containsAddress(range: Cidr, address: string): boolean {
  const parsed = parseAddress(address)
  if (parsed === undefined || parsed.family !== range.family) return false
  const hostBits = BigInt((range.family === 4 ? 32 : 128) - range.bits)
  return parsed.value >> hostBits === range.base >> hostBits
}

/**
 * Whether an address belongs to the public Internet. IPv6 forms that embed an IPv4 address never do: no service needs
 * them, and a translator on the path might route them inside (P45).
 */
export function isPublicAddress(address: string): boolean {
  const family = parseAddress(address)?.family
  if (family === 4) return !isIPv6(address) && !SPECIAL_V4.some((range) => containsAddress(range, address))
  if (family === 6)
    return containsAddress(GLOBAL_V6, address) && !SPECIAL_V6.some((range) => containsAddress(range, address))
  return false
}
