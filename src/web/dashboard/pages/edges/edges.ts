import { api } from '../../api.ts'
import type { EdgeKind } from '../resources.ts'
import type { ModuleName } from './modules.ts'

interface ListedScope {
  readonly id: string
  /** The enabled modules. */
  readonly modules: readonly ModuleName[]
  readonly backend_id: string | null
}

/** An entry of the edge list; it has no module settings, so reading it reveals no secrets. */
export interface EdgeListing extends ListedScope {
  readonly kind: EdgeKind
  readonly description: string
  readonly hostports: readonly string[]
  readonly created_at: string
  readonly routes: readonly (ListedScope & { readonly match: string })[]
}

export const EDGE_KINDS: readonly EdgeKind[] = ['https', 'tls', 'tcp']

const PREFIXES: Readonly<Record<string, EdgeKind>> = { edghts: 'https', edgtls: 'tls', edgtcp: 'tcp' }

/** The kind of edge an id belongs to. */
export function edgeKindOf(id: string): EdgeKind | undefined {
  return PREFIXES[id.slice(0, id.indexOf('_'))]
}

/** All edges of the account. */
export async function listEdges(signal?: AbortSignal): Promise<readonly EdgeListing[]> {
  return (await api.get<{ edges: EdgeListing[] }>('/dashboard/api/edges', signal)).edges
}

/** The edges that serve a host name. */
export function edgesServing(edges: readonly EdgeListing[], host: string): EdgeListing[] {
  return edges.filter(({ hostports }) => hostports.some((hostport) => hostOf(hostport) === host))
}

/** `shop.example` of `shop.example:443`. */
export function hostOf(hostport: string): string {
  return hostport.slice(0, hostport.lastIndexOf(':'))
}
