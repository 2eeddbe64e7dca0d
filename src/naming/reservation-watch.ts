import { HttpsEdge, ReservedAddr, ReservedDomain, TcpEdge, TlsEdge } from '../resources/index.ts'
import type { Follower, Row } from '../store/index.ts'

/** Kinds of rows that reserve public names or addresses. */
export const RESERVING_KINDS = [ReservedDomain, ReservedAddr, HttpsEdge, TlsEdge, TcpEdge].map(
  ({ kind }) => kind,
)

/** Reports every name and address that a row reserves or assigns to an edge. */
export function followReservations(onReserved: (names: readonly string[]) => void): Follower {
  const notify = (rows: readonly (Row | undefined)[]) => {
    const names = rows.flatMap((row) => (row === undefined ? [] : namesIn(row)))
    if (names.length > 0) onReserved(names)
  }
  return {
    reset: (rows) => notify(rows),
    change: (changes) => notify(changes.map(({ row }) => row)),
  }
}

function namesIn({ kind, data }: Row): string[] {
  if (kind === ReservedDomain.kind) return [String(data.domain)]
  if (kind === ReservedAddr.kind) return [String(data.addr)]
  const hostports = (data.hostports ?? []) as readonly string[]
  return kind === TcpEdge.kind ? [...hostports] : hostports.map((hostport) => hostport.replace(/:\d+$/, ''))
}
