import { protocolError } from '../protocol/index.ts'
import type { Reservations } from './reservations.ts'

/** Returns the reservation that governs a name, if any; throws when it belongs to an edge or another account. */
export async function requireAvailableName(reservations: Reservations, accountId: string, host: string) {
  if (reservations.isPlatformName(host)) throw protocolError('name_of_platform', host)
  const [isHeldByEdge, reservation] = await Promise.all([
    reservations.edgeAt(host),
    reservations.domain(host),
  ])
  if (isHeldByEdge) throw protocolError('name_held_by_edge', host)
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
  const [isHeldByEdge, reservation] = await Promise.all([
    reservations.edgeAt(host, port),
    reservations.address(host, port),
  ])
  if (isHeldByEdge) throw protocolError('name_held_by_edge', `${host}:${port}`)
  if (reservation !== undefined && reservation.accountId !== accountId)
    throw protocolError('address_of_other_account', `${host}:${port}`)
  return reservation
}
