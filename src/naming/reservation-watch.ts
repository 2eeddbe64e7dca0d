import { hostOf } from '../base/hostport.ts'
import { HttpsEdge, ReservedAddr, ReservedDomain, TcpEdge, TlsEdge } from '../resources/index.ts'
import type { Follower, Row } from '../store/index.ts'

/** Kinds of rows that reserve public names or addresses. */
export const RESERVING_KINDS = [ReservedDomain, ReservedAddr, HttpsEdge, TlsEdge, TcpEdge].map(
  ({ kind }) => kind,
)

type ReservingKind = (typeof RESERVING_KINDS)[number]

/** Reports every name and address that a row reserves or assigns to an edge. */
export function followReservations(onReserved: (names: readonly string[]) => void): Follower<ReservingKind> {
  const notify = (rows: readonly (Row<ReservingKind> | undefined)[]) => {
    const names = rows.flatMap((row) => (row === undefined ? [] : namesIn(row)))
    if (names.length > 0) onReserved(names)
  }
  return {
    reset: (rows) => notify(rows),
    change: (changes) => notify(changes.map(({ row }) => row)),
  }
}

function namesIn({ kind, data }: Row<ReservingKind>): string[] {
  if (kind === ReservedDomain.kind) return [data.domain]
  if (kind === ReservedAddr.kind) return [data.addr]
  const hostports = data.hostports ?? []
  return kind === TcpEdge.kind ? [...hostports] : hostports.map(hostOf)
}
