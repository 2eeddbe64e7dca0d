import { isIP } from 'node:net'
import { type Cidr, parseAddress, parseCidr } from '../values/cidr.ts'
import { covers } from '../values/domain.ts'
import { parseHostPort } from '../values/hostport.ts'
import { containsAddress } from './public-address.ts'

/** Destinations the operator allows in addition to the public Internet. */
export interface AllowList {
  allowsHost(name: string, port: number): boolean
  allowsAddress(address: string, port: number): boolean
}

/** Compiles ranges, addresses and host names; the last two may have a port. Throws a sentence for an invalid entry. */
export function compileAllowList(entries: string[]): AllowList {
  const names: { pattern: string; port: number | undefined }[] = []
  const ranges: { range: Cidr; port: number | undefined }[] = []
  for (const entry of entries.map((text) => text.trim()).filter((text) => text !== '')) {
    if (entry.includes('/')) {
      ranges.push({ range: parseCidr(entry), port: undefined })
      continue
    }
    const wildcard = entry.startsWith('*.')
    const bracketed = parseAddress(entry) && entry.includes(':') ? `[${entry}]` : entry
    const hostPort = parseHostPort(wildcard ? bracketed.slice(2) : bracketed)
    if (hostPort === undefined)
      throw new Error(
        `"${entry}" in the outbound allow-list is neither a range such as 10.0.0.0/8, nor an address, nor a host name with an optional port.`,
      )
    const address = hostPort.host.replace(/^\[(.*)\]$/, '$1')
    const family = parseAddress(address)?.family
    if (family === undefined)
      names.push({ pattern: wildcard ? `*.${hostPort.host}` : hostPort.host, port: hostPort.port })
    else
      ranges.push({ range: parseCidr(`${address}/${isIP(address) === 4 ? 32 : 128}`), port: hostPort.port })
  }
  const portMatches = (allowed: number | undefined, port: number) => allowed === undefined || allowed === port
  return {
    allowsHost: (name, port) =>
      names.some((entry) => covers(entry.pattern, name) && portMatches(entry.port, port)),
    allowsAddress: (address, port) =>
      ranges.some((entry) => containsAddress(entry.range, address) && portMatches(entry.port, port)),
  }
}
