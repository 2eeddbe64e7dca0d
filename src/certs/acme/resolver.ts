import { Resolver as NodeResolver } from 'node:dns/promises'
import { isIP } from 'node:net'

/** A look-up that came to no answer at all, which is something else than the answer that there is nothing. */
export class ResolverFailed extends Error {
  override name = 'ResolverFailed'
  /** `domain`: the servers of the name itself fail. `resolver`: our own way to DNS does not work. */
  readonly at: 'domain' | 'resolver'

  constructor(at: 'domain' | 'resolver', message: string, options?: ErrorOptions) {
    super(message, options)
    this.at = at
  }
}

/** The public view of DNS. Absence is an empty list; names come back in lower case without a final dot. */
export interface NameResolver {
  addresses(name: string): Promise<string[]>
  cname(name: string): Promise<string[]>
  ns(name: string): Promise<string[]>
  txt(name: string): Promise<string[]>
}

const ABSENT = ['ENODATA', 'ENOTFOUND']
const DOMAIN_FAILS = ['ESERVFAIL', 'EREFUSED', 'EFORMERR', 'ENOTIMP', 'EBADRESP']

/** Looks names up through these servers (`address` or `address:port`), or those of the machine when none are given. */
export function createResolver(servers: readonly string[] = []): NameResolver {
  const resolver = new NodeResolver({ timeout: 3000, tries: 2 })
  if (servers.length > 0) resolver.setServers(servers.map(serverAddress))

  async function ask<T>(name: string, question: Promise<T[]>): Promise<T[]> {
    try {
      return await question
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException
      if (ABSENT.includes(code)) return []
      if (DOMAIN_FAILS.includes(code))
        throw new ResolverFailed('domain', `The name servers of ${name} do not answer properly (${code}).`, {
          cause: error,
        })
      throw new ResolverFailed('resolver', `The name ${name} could not be looked up (${code}).`, {
        cause: error,
      })
    }
  }

  return {
    async addresses(name) {
      const [v4, v6] = await Promise.all([
        ask(name, resolver.resolve4(name)),
        ask(name, resolver.resolve6(name)),
      ])
      return [...v4, ...v6]
    },
    cname: async (name) => (await ask(name, resolver.resolveCname(name))).map(bare),
    ns: async (name) => (await ask(name, resolver.resolveNs(name))).map(bare),
    txt: async (name) => (await ask(name, resolver.resolveTxt(name))).map((pieces) => pieces.join('')),
  }
}

/** `setServers` wants brackets around an IPv6 address as soon as there is a port. */
function serverAddress(text: string): string {
  return isIP(text) === 6 ? `[${text}]` : text
}

function bare(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}
