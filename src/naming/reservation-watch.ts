import { HttpsEdge, ReservedAddr, ReservedDomain, TcpEdge, TlsEdge } from '../resources/index.ts'
import type { NameWatch } from '../sessions/index.ts'
import type { Follower, Row } from '../store/index.ts'

/** Kinds of rows that hold public names or addresses. */
export const CLAIMING_KINDS = [ReservedDomain, ReservedAddr, HttpsEdge, TlsEdge, TcpEdge].map(
  ({ kind }) => kind,
)

/** Tells of every name that comes to belong to somebody, so that tunnels at it can be looked at. */
export function followClaims({ claimed }: Pick<NameWatch, 'claimed'>): Follower {
  const tell = (rows: readonly (Row | undefined)[]) => {
    const names = rows.flatMap((row) => (row === undefined ? [] : namesIn(row)))
    if (names.length > 0) claimed(names)
  }
  return {
    reset: (rows) => tell(rows),
    change: (changes) => tell(changes.map(({ row }) => row)),
  }
}

function namesIn({ kind, data }: Row): string[] {
  if (kind === ReservedDomain.kind) return [String(data.domain)]
  if (kind === ReservedAddr.kind) return [String(data.addr)]
  const hostports = (data.hostports ?? []) as readonly string[]
  return kind === TcpEdge.kind ? [...hostports] : hostports.map((hostport) => hostport.replace(/:\d+$/, ''))
}
