import type { EdgeListing, EdgePage } from '../../../../dashboard/page-data.ts'
import { api } from '../../api.ts'
import type { EdgeKind } from '../resources.ts'

export type { EdgeListing, EdgePage }

export const EDGE_KINDS: readonly EdgeKind[] = ['https', 'tls', 'tcp']

const PREFIXES: Readonly<Record<string, EdgeKind>> = { edghts: 'https', edgtls: 'tls', edgtcp: 'tcp' }

/** The kind of edge an id belongs to. */
export function edgeKindOf(id: string): EdgeKind | undefined {
  return PREFIXES[id.slice(0, id.indexOf('_'))]
}

/** The edges that send traffic to a backend. */
export async function listEdgesWithBackend(
  backendId: string,
  signal?: AbortSignal,
): Promise<readonly EdgeListing[]> {
  const query = new URLSearchParams({ backend: backendId })
  return (await api.get<EdgePage>(`/dashboard/api/edges?${query}`, signal)).edges
}

/** Host names of 253 characters fit the limit of an address. */
const MAX_HOSTS_PER_CALL = 50

/** The edges that serve one of the host names, or hosts with a port. */
export async function listEdgesOf(
  hosts: readonly string[],
  signal?: AbortSignal,
): Promise<readonly EdgeListing[]> {
  const calls: Promise<EdgePage>[] = []
  for (let first = 0; first < hosts.length; first += MAX_HOSTS_PER_CALL) {
    const query = new URLSearchParams({ hosts: hosts.slice(first, first + MAX_HOSTS_PER_CALL).join(',') })
    calls.push(api.get<EdgePage>(`/dashboard/api/edges?${query}`, signal))
  }
  return (await Promise.all(calls)).flatMap(({ edges }) => edges)
}

/** The edges that serve a host name. */
export function edgesServing(edges: readonly EdgeListing[], host: string): EdgeListing[] {
  return edges.filter(({ hostports }) => hostports.some((hostport) => hostOf(hostport) === host))
}

/** `shop.example` of `shop.example:443`. */
export function hostOf(hostport: string): string {
  return hostport.slice(0, hostport.lastIndexOf(':'))
}
