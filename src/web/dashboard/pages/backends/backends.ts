import type { BackendListing, BackendPage, BackendTrees } from '../../../../dashboard/page-data.ts'
import { api } from '../../api.ts'
import type { LoadState } from '../../kit/index.ts'
import type { FlowContext } from '../edges/request-flow.ts'
import type { Backend } from '../resources.ts'
import { useLoad } from '../use-load.ts'
import { backendKindOf } from './kinds.ts'

/** The backends of a list or dialog, in its order. */
export interface ListedBackends {
  readonly ids: readonly string[]
  /** These backends, and what they send traffic to. */
  readonly context: FlowContext
  readonly matching: number
  readonly total: number
}

/** Which backends to list; all of them without conditions. */
export interface BackendFilter {
  readonly search?: string
  readonly kinds?: readonly string[]
  /** Only those that send traffic to this backend. */
  readonly child?: string
  readonly page?: number
}

/** The backends of a page. */
export const BACKENDS_PER_PAGE = 50

/** One page of the backends that match, newest first. */
export async function listBackends(filter: BackendFilter, signal?: AbortSignal): Promise<ListedBackends> {
  const { search = '', kinds = [], child, page = 1 } = filter
  const query = new URLSearchParams({
    offset: String((page - 1) * BACKENDS_PER_PAGE),
    limit: String(BACKENDS_PER_PAGE),
    ...(search.trim() !== '' && { q: search }),
    ...(kinds.length > 0 && { kinds: kinds.join(',') }),
    ...(child !== undefined && { child }),
  })
  const { backends, ...counts } = await api.get<BackendPage>(`/dashboard/api/backends?${query}`, signal)
  return { ...counts, context: contextOf(backends) }
}

/** So many ids fit the limit of an address. */
const MAX_IDS_PER_CALL = 200

/** Backends with what they send traffic to; reloaded whenever `key` changes, and loaded once there are ids. */
export function useBackendTrees(ids: readonly string[] | undefined, key: string): LoadState<FlowContext> {
  return useLoad(
    async (signal) => {
      const calls: Promise<BackendTrees>[] = []
      const distinct = [...new Set(ids)]
      for (let first = 0; first < distinct.length; first += MAX_IDS_PER_CALL) {
        const query = new URLSearchParams({ ids: distinct.slice(first, first + MAX_IDS_PER_CALL).join(',') })
        calls.push(api.get<BackendTrees>(`/dashboard/api/backend_trees?${query}`, signal))
      }
      return contextOf((await Promise.all(calls)).flatMap(({ backends }) => backends))
    },
    { everyMs: 30_000, key: `${key} ${ids}`, skip: ids === undefined },
  )
}

/** The backend with this id and all its settings. */
export function useBackend(id: string, key = ''): LoadState<Backend> {
  return useLoad(
    (signal) => api.get<Backend>(`/backends/${backendKindOf(id)}/${encodeURIComponent(id)}`, signal),
    {
      key: `${key} ${id}`,
      skip: backendKindOf(id) === undefined,
    },
  )
}

/** A backend that was just created, as lists show it. */
export function listingOf({ tls, tunnels = [], body, ...backend }: Backend): BackendListing {
  const { id, description, created_at, status_code, address, labels, backends } = backend
  return {
    id,
    description,
    created_at,
    ...(status_code !== undefined && { status_code, body_bytes: new TextEncoder().encode(body).length }),
    ...(address !== undefined && { address, tls: tls?.enabled === true }),
    ...(labels !== undefined && { labels, online: tunnels.length }),
    ...(backends !== undefined && { backends }),
  }
}

const contextOf = (backends: readonly BackendListing[]): FlowContext => ({
  backends: new Map(backends.map((backend) => [backend.id, backend])),
})
