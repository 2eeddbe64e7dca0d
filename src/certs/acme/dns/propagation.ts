import { Resolver } from 'node:dns/promises'
import { isIPv6 } from 'node:net'
import { ABSENT_CODES, type NameResolver } from '../client/resolver.ts'

const DNS_PORT = 53
const TIMEOUT_MS = 3000

/** The name servers of a zone, each with its addresses. */
type AuthoritativeServers = readonly (readonly string[])[]

/**
 * Tells when all name servers of a zone have a new record, by asking them directly: a resolver remembers for up to hours
 * that a name did not exist. Where the network lets DNS pass only to the configured resolver, that one is asked.
 */
export class Propagation {
  readonly #resolver: NameResolver
  readonly #port: number

  constructor(resolver: NameResolver, port = DNS_PORT) {
    this.#resolver = resolver
    this.#port = port
  }

  /** Returns a check for TXT values at a name: the values that are not visible everywhere yet. */
  async watch(name: string, values: readonly string[]): Promise<() => Promise<string[]>> {
    const servers = await this.#findServers(name)
    return async () => {
      const answers = await Promise.all(servers.map((addresses) => this.#query(addresses, name)))
      const reached = answers.filter((answer) => answer !== undefined)
      const visible = reached.length > 0 ? reached : [await this.#resolver.txt(name).catch(() => [])]
      return values.filter((value) => !visible.every((answer) => answer.includes(value)))
    }
  }

  async #findServers(name: string): Promise<AuthoritativeServers> {
    for (let zone = name; zone.includes('.'); zone = zone.slice(zone.indexOf('.') + 1)) {
      const names = await this.#resolver.ns(zone).catch(() => [])
      if (names.length === 0) continue
      return Promise.all(names.map((server) => this.#resolver.addresses(server).catch(() => [])))
    }
    return []
  }

  /** The TXT values that one server has at a name; undefined when it does not answer. */
  async #query(addresses: readonly string[], name: string): Promise<string[] | undefined> {
    if (addresses.length === 0) return undefined
    const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: 1 })
    resolver.setServers(
      addresses.map((address) => `${isIPv6(address) ? `[${address}]` : address}:${this.#port}`),
    )
    try {
      return (await resolver.resolveTxt(name)).map((chunks) => chunks.join(''))
    } catch (error) {
      return ABSENT_CODES.includes((error as NodeJS.ErrnoException).code ?? '') ? [] : undefined
    }
  }
}
