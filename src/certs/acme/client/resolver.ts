import { Resolver as NodeResolver } from 'node:dns/promises'
import { isIP } from 'node:net'

/** A failed lookup, as opposed to one that found no records. */
export class ResolverError extends Error {
  override name = 'ResolverError'
  /** `domain`: the name's own servers fail. `resolver`: our resolver does not work. */
  readonly source: 'domain' | 'resolver'

  constructor(source: 'domain' | 'resolver', message: string, options?: ErrorOptions) {
    super(message, options)
    this.source = source
  }
}

/** The public view of DNS. Absence is an empty list; names are returned in lower case without a final dot. */
export interface NameResolver {
  addresses(name: string): Promise<string[]>
  cname(name: string): Promise<string[]>
  ns(name: string): Promise<string[]>
  txt(name: string): Promise<string[]>
}

/** The codes of lookups that found no records. */
export const ABSENT_CODES = ['ENODATA', 'ENOTFOUND']
const DOMAIN_ERROR_CODES = ['ESERVFAIL', 'EREFUSED', 'EFORMERR', 'ENOTIMP', 'EBADRESP']

/** Creates a resolver that uses these servers (`address` or `address:port`), by default those of the machine. */
export function createResolver(servers: readonly string[] = []): NameResolver {
  const resolver = new NodeResolver({ timeout: 3000, tries: 2 })
  if (servers.length > 0) resolver.setServers(servers.map(formatServer))

  async function query<T>(name: string, lookup: Promise<T[]>): Promise<T[]> {
    try {
      return await lookup
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException
      if (ABSENT_CODES.includes(code)) return []
      if (DOMAIN_ERROR_CODES.includes(code))
        throw new ResolverError('domain', `The name servers of ${name} return errors (${code}).`, {
          cause: error,
        })
      throw new ResolverError('resolver', `The name ${name} could not be looked up (${code}).`, {
        cause: error,
      })
    }
  }

  return {
    async addresses(name) {
      const [v4, v6] = await Promise.all([
        query(name, resolver.resolve4(name)),
        query(name, resolver.resolve6(name)),
      ])
      return [...v4, ...v6]
    },
    cname: async (name) => (await query(name, resolver.resolveCname(name))).map(normalizeName),
    ns: async (name) => (await query(name, resolver.resolveNs(name))).map(normalizeName),
    txt: async (name) => (await query(name, resolver.resolveTxt(name))).map((chunks) => chunks.join('')),
  }
}

/** `setServers` requires brackets around an IPv6 address with a port. */
function formatServer(text: string): string {
  return isIP(text) === 6 ? `[${text}]` : text
}

function normalizeName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}
