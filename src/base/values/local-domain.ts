import { promises as dns, type LookupAddress } from 'node:dns'
import { isIP } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** Whether a name is `localhost` or below it (RFC 6761 section 6.3): only programs on this machine reach it. */
export function isLocalDomain(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost')
}

/** Resolves a name as programs on this system do; a parameter, so that tests can stand in for other systems. */
export type SystemLookup = (host: string) => Promise<readonly Pick<LookupAddress, 'address'>[]>

const systemLookup: SystemLookup = (host) => dns.lookup(host, { all: true })

/** After this the name does not count as resolved: a program that opened it would wait as long. */
const LOOKUP_TIMEOUT_MS = 5_000

/**
 * Whether the system resolves a name below localhost to this machine. Browsers and curl do so themselves; other programs
 * ask the system, and many systems forward the question to a name server that does not know the answer.
 */
export async function resolvesLocally(host: string, lookup: SystemLookup = systemLookup): Promise<boolean> {
  const timer = new AbortController()
  try {
    const addresses = await Promise.race([
      lookup(host).catch(() => []),
      delay(LOOKUP_TIMEOUT_MS, [], { ref: false, signal: timer.signal }),
    ])
    return addresses.length > 0 && addresses.every(({ address }) => isLoopbackAddress(address))
  } finally {
    timer.abort()
  }
}

function isLoopbackAddress(address: string): boolean {
  return isIP(address) === 4 ? address.startsWith('127.') : address === '::1'
}

/** Where the system reads names before it asks a name server. */
function hostsFile(platform: NodeJS.Platform): string {
  return platform === 'win32' ? 'C:\\Windows\\System32\\drivers\\etc\\hosts' : '/etc/hosts'
}

/** What to do about a URL whose name this system does not resolve: the finding, then one line for each remedy. */
export function describeUnresolved(
  url: string,
  platform: NodeJS.Platform = process.platform,
): [finding: string, ...remedies: string[]] {
  const { hostname, port, protocol } = new URL(url)
  return [
    `This system does not resolve ${hostname}. Browsers and curl open it, other programs do not.`,
    `For other programs, add this line to ${hostsFile(platform)}: 127.0.0.1 ${hostname}`,
    `For curl before 7.85: curl --resolve ${hostname}:${port || (protocol === 'http:' ? 80 : 443)}:127.0.0.1 ${url}`,
    'For all names at once: adit server --domain NAME, where *.NAME resolves to 127.0.0.1',
  ]
}
