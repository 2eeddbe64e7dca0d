/** A host name or address with an optional port. */
export interface HostPort {
  /** Lower case, without a final dot; an IPv6 address keeps its brackets. */
  host: string
  port: number | undefined
}

const NAME =
  /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/
const IPV6 = /^\[[0-9a-f:.]{2,45}\]$/

/**
 * Parses `host`, `host:` or `host:port`. Every decision by host uses this one reading (P25): lower case, one final dot
 * removed, labels of valid characters only. Undefined for anything else.
 */
export function parseHostPort(text: string): HostPort | undefined {
  const bracket = text.lastIndexOf(']')
  const colon = text.indexOf(':', bracket + 1)
  let host = (colon === -1 ? text : text.slice(0, colon)).toLowerCase()
  let port: number | undefined
  if (colon !== -1 && colon + 1 < text.length) {
    port = parsePort(text.slice(colon + 1))
    if (port === undefined) return undefined
  }
  if (bracket !== -1) return IPV6.test(host) ? { host, port } : undefined
  if (host.endsWith('.')) host = host.slice(0, -1)
  return isHostName(host) ? { host, port } : undefined
}

/** Parses a port from 1 to 65535 in plain digits. */
export function parsePort(text: string): number | undefined {
  if (!/^[0-9]{1,5}$/.test(text)) return undefined
  const port = Number(text)
  return port >= 1 && port <= 65535 ? port : undefined
}

/** Whether a lower-case name has valid labels. Underscores are allowed because such names exist. */
export function isHostName(host: string): boolean {
  return NAME.test(host)
}

/** The host of a hostport: `app.example.com` for `app.example.com:443`. */
export function hostOf(hostport: string): string {
  return hostport.slice(0, hostport.lastIndexOf(':'))
}

/** Formats `address:port`, with brackets around an IPv6 address. */
export function joinHostPort(address: string, port: number): string {
  return address.includes(':') && !address.startsWith('[') ? `[${address}]:${port}` : `${address}:${port}`
}

/** Formats the URL of a host without the scheme's default port. */
export function publicUrl(scheme: 'http' | 'https', host: string, port: number): string {
  return port === (scheme === 'http' ? 80 : 443) ? `${scheme}://${host}` : `${scheme}://${host}:${port}`
}
