import { parseAddress, stripZone } from './cidr.ts'

/** The key that per-client limits count by: an IPv4 address, or the /64 of an IPv6 address. */
export function clientKey(ip: string): string {
  const address = parseAddress(stripZone(ip))
  if (address === undefined) return ip
  return address.family === 4 ? `v4:${address.value}` : `v6:${address.value >> 64n}`
}
