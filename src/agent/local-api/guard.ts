import type { IncomingHttpHeaders } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { parseHostPort } from '../../base/values/hostport.ts'

/** The parts of a request that the guard checks. */
export interface GuardedRequest {
  method: string
  headers: IncomingHttpHeaders
  /** True for pages, which other sites may link to; they contain no data themselves. */
  page: boolean
}

/** Checks the origin of a request; returns the reason if it is rejected. */
export type RequestGuard = (request: GuardedRequest) => string | undefined

/**
 * Prevents other web pages from calling the local API: their requests have an unknown Host (DNS rebinding), a foreign
 * Origin, or a cross-site Sec-Fetch-Site.
 */
export function createGuard(options: {
  allowHosts: readonly string[]
  /** Public host names of tunnels to this API. */
  ownHosts(): Iterable<string>
}): RequestGuard {
  const isAllowed = compileHosts(options.allowHosts)
  return ({ method, headers, page }) => {
    const host = parseHostPort(headers.host ?? '')
    if (!host) return 'the request has no valid Host header'
    const hostname = host.host.replace(/^\[|\]$/g, '')
    if (!isLoopback(hostname) && !isAllowed(hostname) && !includes(options.ownHosts(), hostname)) {
      return `the Host "${hostname}" is not allowed; add it to web_allow_hosts to allow it`
    }
    const { origin } = headers
    if (origin !== undefined && !isSameHost(origin, headers.host ?? '')) {
      return 'requests from other web pages are rejected (Origin)'
    }
    const site = headers['sec-fetch-site']
    if (site === undefined || site === 'same-origin' || site === 'none') return undefined
    const isNavigation =
      page &&
      method === 'GET' &&
      headers['sec-fetch-mode'] === 'navigate' &&
      headers['sec-fetch-dest'] === 'document'
    return isNavigation ? undefined : 'requests from other web pages are rejected (Sec-Fetch-Site)'
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

function isSameHost(origin: string, host: string): boolean {
  return (
    /^https?:\/\//.test(origin) &&
    origin.slice(origin.indexOf('://') + 3).toLowerCase() === host.toLowerCase()
  )
}

function includes(hosts: Iterable<string>, host: string): boolean {
  for (const candidate of hosts) if (candidate === host) return true
  return false
}

/** Matches exact names and addresses, CIDR ranges, and `.suffix` for all subdomains. */
function compileHosts(entries: readonly string[]): (host: string) => boolean {
  const ranges = new BlockList()
  const names = new Set<string>()
  const suffixes: string[] = []
  for (const entry of entries.map((entry) => entry.trim().toLowerCase())) {
    const [address = '', bits] = entry.split('/')
    const family = isIP(address)
    if (bits !== undefined && family !== 0)
      ranges.addSubnet(address, Number(bits), family === 4 ? 'ipv4' : 'ipv6')
    else if (entry.startsWith('.')) suffixes.push(entry)
    else names.add(entry)
  }
  return (host) => {
    const family = isIP(host)
    if (names.has(host) || suffixes.some((suffix) => host.endsWith(suffix))) return true
    return family !== 0 && ranges.check(host, family === 4 ? 'ipv4' : 'ipv6')
  }
}
