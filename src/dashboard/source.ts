import { parseAddress } from '../base/cidr.ts'

/** Where attempts are counted: an IPv4 address, or the /64 of an IPv6 address, since one customer has all of that. */
export function sourceOf(ip: string): string {
  const address = parseAddress(ip.replace(/%.*$/, ''))
  if (address === undefined) return ip
  return address.family === 4 ? `v4:${address.value}` : `v6:${address.value >> 64n}`
}
