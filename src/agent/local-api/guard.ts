import type { IncomingHttpHeaders } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { parseHostPort } from '../../base/hostport.ts'

/** What the guard looks at. */
export interface GuardedRequest {
  method: string
  headers: IncomingHttpHeaders
  /** True for the pages people open, which a link elsewhere may lead to; they show nothing by themselves. */
  page: boolean
}

/** Decides whether a request may come from where it claims to come from; gives the reason when not. */
export type RequestGuard = (request: GuardedRequest) => string | undefined

/**
 * Keeps other web pages from driving the agent: their requests carry a Host we do not have (a name rebound to this
 * machine), a foreign Origin, or the browser's own word that they come from elsewhere.
 */
export function createGuard(options: {
  allowHosts: readonly string[]
  /** Public host names that lead to this very API through a tunnel. */
  ownHosts(): Iterable<string>
}): RequestGuard {
  const isAllowed = compileHosts(options.allowHosts)
  return ({ method, headers, page }) => {
    const host = parseHostPort(headers.host ?? '')
    if (!host) return 'the request names no valid Host'
    const hostname = host.host.replace(/^\[|\]$/g, '')
    if (!isLoopback(hostname) && !isAllowed(hostname) && !includes(options.ownHosts(), hostname)) {
      return `the Host "${hostname}" is not allowed; add it to web_allow_hosts to allow it`
    }
    const { origin } = headers
    if (origin !== undefined && !isSameHost(origin, headers.host ?? '')) {
      return 'requests of other web pages are refused (Origin)'
    }
    const site = headers['sec-fetch-site']
    if (site === undefined || site === 'same-origin' || site === 'none') return undefined
    const isNavigation =
      page &&
      method === 'GET' &&
      headers['sec-fetch-mode'] === 'navigate' &&
      headers['sec-fetch-dest'] === 'document'
    return isNavigation ? undefined : 'requests of other web pages are refused (Sec-Fetch-Site)'
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
  for (const each of hosts) if (each === host) return true
  return false
}

/** Exact names and addresses, CIDR ranges, and `.suffix` for every name below. */
function compileHosts(entries: readonly string[]): (host: string) => boolean {
  const ranges = new BlockList()
  const names = new Set<string>()
  const suffixes: string[] = []
  for (const entry of entries.map((each) => each.trim().toLowerCase())) {
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
