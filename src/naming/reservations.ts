import { owningNames, reverseLabels } from '../base/values/domain.ts'
import { coveringNames } from '../base/values/name-index.ts'
import type { Reader, Store } from '../store/index.ts'
import { isPlatformName } from './platform-names.ts'

/** A reserved domain or address. */
export interface Reservation {
  /** `rd_…` or `ra_…` */
  readonly id: string
  readonly accountId: string
}

/** Ownership of public names. */
export interface Reservations {
  /** Whether the name belongs to the platform itself. */
  isPlatformName(host: string): boolean
  /**
   * The reservation that governs a host name: of the name itself or a covering wildcard (`covers`), else of the nearest
   * parent name.
   */
  domain(host: string): Promise<(Reservation & { readonly covers: boolean }) | undefined>
  /** Whether the account owns a name with all names below it. */
  ownsDomain(accountId: string, name: string): Promise<boolean>
  address(host: string, port: number): Promise<Reservation | undefined>
  /** Whether an edge serves this name, or this TCP address when a port is given. */
  edgeAt(host: string, port?: number): Promise<boolean>
}

/** Looks up the owners of public names in the store. */
export function createReservations(options: { store: Store; domain: string }): Reservations {
  const { domain } = options
  // From the local copy: agents also bind names while the database is unavailable.
  const { fallbackReader } = options.store

  return {
    isPlatformName: (host) => isPlatformName(host, domain),

    async domain(host) {
      const covering = [...coveringNames(host)]
      const labels = host.replace(/^\*\./, '').split('.')
      const parents = labels.slice(1).map((_, index) => labels.slice(index + 1).join('.'))
      const end = parents.indexOf(domain)
      const names = [...covering, ...(end === -1 ? parents : parents.slice(0, end))]
      const holders = await fallbackReader.holders('domain', names.map(reverseLabels))
      const index = names.findIndex((name) => holders.has(reverseLabels(name)))
      const holder = holders.get(reverseLabels(names[index] ?? ''))
      return holder && { id: holder.id, accountId: holder.account, covers: index < covering.length }
    },

    ownsDomain: (accountId, name) => ownsDomain(name, fallbackReader, accountId),

    async address(host, port) {
      const holder = await fallbackReader.holder('address', `${host}:${port}`)
      return holder && { id: holder.id, accountId: holder.account }
    },

    async edgeAt(host, port = 443) {
      const hostports = [...coveringNames(host)].map((name) => `${reverseLabels(name)}:${port}`)
      return (await fallbackReader.holders('hostport', hostports)).size > 0
    },
  }
}

/** Whether the account owns a name with all names below it: others can reserve none of them (`findOverlap`). */
export async function ownsDomain(
  name: string,
  reader: Pick<Reader, 'holders'>,
  accountId: string,
): Promise<boolean> {
  const holders = await reader.holders('domain', [...owningNames(name)].map(reverseLabels))
  return [...holders.values()].some(({ account }) => account === accountId)
}

/** The account's reservation that covers the host, other than `exceptId`. */
export async function findReservation(
  host: string,
  reader: Pick<Reader, 'holders'>,
  accountId: string,
  exceptId?: string,
): Promise<string | undefined> {
  const names = [...coveringNames(host)].map(reverseLabels)
  const holders = await reader.holders('domain', names)
  return names
    .map((name) => holders.get(name))
    .find((holder) => holder?.account === accountId && holder.id !== exceptId)?.id
}
