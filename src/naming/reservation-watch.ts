import { hostOf } from '../base/values/hostport.ts'
import { HttpsEdge, ReservedAddr, ReservedDomain, TcpEdge, TlsEdge } from '../resources/index.ts'
import type { PagedFollower, Row, RowChange } from '../store/index.ts'

/** Kinds of rows that reserve public names or addresses. */
export const RESERVING_KINDS = [ReservedDomain, ReservedAddr, HttpsEdge, TlsEdge, TcpEdge].map(
  ({ kind }) => kind,
)

type ReservingKind = (typeof RESERVING_KINDS)[number]

/**
 * Reports every name and address that a row reserves or assigns to an edge, except those of the first load: no tunnel is
 * online yet that could use them.
 */
export function followReservations(
  onReserved: (names: readonly string[]) => void,
): PagedFollower<ReservingKind> {
  let loaded = false
  const notify = (changes: readonly RowChange<ReservingKind>[]) => {
    const names = changes.flatMap(({ row }) => (row === undefined ? [] : namesIn(row)))
    if (names.length > 0) onReserved(names)
  }
  return {
    load: () => ({
      ...(loaded && { put: notify }),
      complete() {
        loaded = true
      },
    }),
    change: notify,
  }
}

function namesIn({ kind, data }: Row<ReservingKind>): string[] {
  if (kind === ReservedDomain.kind) return [data.domain]
  if (kind === ReservedAddr.kind) return [data.addr]
  const hostports = data.hostports ?? []
  return kind === TcpEdge.kind ? [...hostports] : hostports.map(hostOf)
}
