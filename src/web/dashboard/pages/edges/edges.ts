import { listAll } from '../list-all.ts'
import type { Edge, EdgeKind } from '../resources.ts'

/** An edge with its kind, which only its address and its id tell. */
export type ListedEdge = Edge & { readonly kind: EdgeKind }

export const EDGE_KINDS: readonly EdgeKind[] = ['https', 'tls', 'tcp']

const PREFIXES: Readonly<Record<string, EdgeKind>> = { edghts: 'https', edgtls: 'tls', edgtcp: 'tcp' }

/** The kind of edge an id belongs to. */
export function edgeKindOf(id: string): EdgeKind | undefined {
  return PREFIXES[id.slice(0, id.indexOf('_'))]
}

/** All edges of the account. */
export async function listEdges(signal?: AbortSignal): Promise<ListedEdge[]> {
  const lists = await Promise.all(
    EDGE_KINDS.map(async (kind) =>
      (await listAll<Edge>(`/edges/${kind}`, `${kind}_edges`, signal)).map((edge) => ({ ...edge, kind })),
    ),
  )
  return lists.flat()
}

/** The edges that answer at this host name. */
export function edgesAt(edges: readonly ListedEdge[], host: string): ListedEdge[] {
  return edges.filter(({ hostports }) => (hostports ?? []).some((hostport) => hostOf(hostport) === host))
}

/** `shop.example` of `shop.example:443`. */
export function hostOf(hostport: string): string {
  return hostport.slice(0, hostport.lastIndexOf(':'))
}
