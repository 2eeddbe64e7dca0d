import { protocolError } from '../protocol/index.ts'

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
  address(host: string, port: number): Promise<Reservation | undefined>
  /** Whether an edge serves this name, or this TCP address when a port is given. */
  edgeAt(host: string, port?: number): Promise<boolean>
}

/** Returns the reservation that governs a name, if any; throws when it belongs to an edge or another account. */
export async function requireAvailableName(reservations: Reservations, accountId: string, host: string) {
  if (reservations.isPlatformName(host)) throw protocolError('name_of_platform', host)
  if (await reservations.edgeAt(host)) throw protocolError('name_held_by_edge', host)
  const reservation = await reservations.domain(host)
  if (reservation !== undefined && reservation.accountId !== accountId)
    throw protocolError('name_of_other_account', host)
  return reservation
}

/** The same for a TCP address. */
export async function requireAvailableAddress(
  reservations: Reservations,
  accountId: string,
  host: string,
  port: number,
) {
  if (await reservations.edgeAt(host, port)) throw protocolError('name_held_by_edge', `${host}:${port}`)
  const reservation = await reservations.address(host, port)
  if (reservation !== undefined && reservation.accountId !== accountId)
    throw protocolError('address_of_other_account', `${host}:${port}`)
  return reservation
}
