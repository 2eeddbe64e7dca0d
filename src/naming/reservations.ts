import { reverseLabels } from '../base/domain.ts'
import type { Store } from '../store/index.ts'
import { isPlatformName } from './platform-names.ts'

/** The reservation of a name. */
interface Holder {
  readonly id: string
  readonly accountId: string
}

/** The wildcards that cover a name, most specific first. */
function coveringWildcards(host: string): string[] {
  const labels = host.split('.')
  return labels.slice(1).map((_, from) => `*.${labels.slice(from + 1).join('.')}`)
}

/** Looks up the owners of public names in the store. */
export function createReservations(options: { store: Store; domain: string }) {
  const { domain } = options
  // From the local copy: agents also bind names while the database is unavailable.
  const { fallbackReader } = options.store

  async function holderOf(name: string): Promise<Holder | undefined> {
    const holder = await fallbackReader.holder('domain', reverseLabels(name))
    return holder && { id: holder.id, accountId: holder.account }
  }

  return {
    isPlatformName: (host: string) => isPlatformName(host, domain),

    /** The reservation that governs a host name: its own or a covering wildcard's, else of the nearest parent name. */
    async domain(host: string): Promise<(Holder & { readonly covers: boolean }) | undefined> {
      for (const name of [host, ...coveringWildcards(host)]) {
        const holder = await holderOf(name)
        if (holder !== undefined) return { ...holder, covers: true }
      }
      const labels = host.replace(/^\*\./, '').split('.')
      for (let from = 1; from < labels.length; from++) {
        const parent = labels.slice(from).join('.')
        if (parent === domain) return undefined
        const holder = await holderOf(parent)
        if (holder !== undefined) return { ...holder, covers: false }
      }
      return undefined
    },

    async address(host: string, port: number): Promise<Holder | undefined> {
      const holder = await fallbackReader.holder('address', `${host}:${port}`)
      return holder && { id: holder.id, accountId: holder.account }
    },

    /** Whether an edge serves this name, or this TCP address when a port is given. */
    async edgeAt(host: string, port = 443): Promise<boolean> {
      for (const name of [host, ...coveringWildcards(host)])
        if ((await fallbackReader.holder('hostport', `${reverseLabels(name)}:${port}`)) !== undefined)
          return true
      return false
    },
  }
}
