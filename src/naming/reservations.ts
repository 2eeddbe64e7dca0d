import { owningNames, reverseLabels } from '../base/domain.ts'
import { coveringNames } from '../base/name-index.ts'
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

  async function holderOf(name: string): Promise<Reservation | undefined> {
    const holder = await fallbackReader.holder('domain', reverseLabels(name))
    return holder && { id: holder.id, accountId: holder.account }
  }

  return {
    isPlatformName: (host) => isPlatformName(host, domain),

    async domain(host) {
      for (const name of coveringNames(host)) {
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

    ownsDomain: (accountId, name) => ownsDomain(name, fallbackReader, accountId),

    async address(host, port) {
      const holder = await fallbackReader.holder('address', `${host}:${port}`)
      return holder && { id: holder.id, accountId: holder.account }
    },

    async edgeAt(host, port = 443) {
      for (const name of coveringNames(host))
        if ((await fallbackReader.holder('hostport', `${reverseLabels(name)}:${port}`)) !== undefined)
          return true
      return false
    },
  }
}

/** Whether the account owns a name with all names below it: others can reserve none of them (`findOverlap`). */
export async function ownsDomain(
  name: string,
  reader: Pick<Reader, 'holder'>,
  accountId: string,
): Promise<boolean> {
  for (const reserved of owningNames(name))
    if ((await reader.holder('domain', reverseLabels(reserved)))?.account === accountId) return true
  return false
}

/** The account's reservation that covers the host, other than `exceptId`. */
export async function findReservation(
  host: string,
  reader: Pick<Reader, 'holder'>,
  accountId: string,
  exceptId?: string,
): Promise<string | undefined> {
  for (const name of coveringNames(host)) {
    const holder = await reader.holder('domain', reverseLabels(name))
    if (holder?.account === accountId && holder.id !== exceptId) return holder.id
  }
  return undefined
}
