import { refusal } from '../protocol/index.ts'

/** A reserved domain or address. */
export interface Reservation {
  /** `rd_…` or `ra_…` */
  readonly id: string
  readonly accountId: string
}

/** Who owns which public names. */
export interface Reservations {
  /** Whether the platform serves the name, or everything above it, itself. */
  isPlatformName(host: string): boolean
  /**
   * The reservation that decides over a host name: of the name itself or of a wildcard over it (`covers`), else the
   * nearest name above it.
   */
  domain(host: string): Promise<(Reservation & { readonly covers: boolean }) | undefined>
  address(host: string, port: number): Promise<Reservation | undefined>
  /** Whether an edge answers at this name, or at this TCP address when a port is given. */
  edgeAt(host: string, port?: number): Promise<boolean>
}

/** Throws a refusal when a name belongs to an edge or to somebody else; answers with the reservation behind it. */
export async function requireAvailableName(reservations: Reservations, accountId: string, host: string) {
  if (reservations.isPlatformName(host)) throw refusal('name_of_platform', host)
  if (await reservations.edgeAt(host)) throw refusal('name_held_by_edge', host)
  const reservation = await reservations.domain(host)
  if (reservation !== undefined && reservation.accountId !== accountId)
    throw refusal('name_of_other_account', host)
  return reservation
}

/** The same for a TCP address. */
export async function requireAvailableAddress(
  reservations: Reservations,
  accountId: string,
  host: string,
  port: number,
) {
  if (await reservations.edgeAt(host, port)) throw refusal('name_held_by_edge', `${host}:${port}`)
  const reservation = await reservations.address(host, port)
  if (reservation !== undefined && reservation.accountId !== accountId)
    throw refusal('address_of_other_account', `${host}:${port}`)
  return reservation
}
