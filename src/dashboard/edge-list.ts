import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import { requirePrincipal } from '../api/index.ts'
import { formatTimestamp } from '../base/clock.ts'
import type { Row, Store } from '../store/index.ts'
import { scanAll } from './scan.ts'

type Data = Readonly<Record<string, unknown>>

const KINDS = { edges_https: 'https', edges_tls: 'tls', edges_tcp: 'tcp' } as const

/**
 * `GET /dashboard/api/edges`: a summary of every edge, without module settings. The management API returns edges with
 * their secrets and audits the read, which a list of names does not need.
 */
export function mountEdgeList(
  http: FastifyInstance,
  { authenticate, store }: { authenticate: onRequestHookHandler; store: Store },
): void {
  http.get('/dashboard/api/edges', { onRequest: authenticate }, async (request) => {
    const { accountId } = requirePrincipal(request)
    const routes = Map.groupBy(
      await scanAll(store, 'edges_https_routes', accountId),
      ({ data }) => data.edge_id,
    )
    const lists = await Promise.all(
      Object.entries(KINDS).map(async ([kind, name]) =>
        (await scanAll(store, kind, accountId)).map((edge) => ({
          ...describeScope(edge),
          kind: name,
          description: edge.data.description,
          hostports: edge.data.hostports ?? [],
          created_at: formatTimestamp(edge.createdAt),
          routes: (routes.get(edge.id) ?? []).map((route) => ({
            ...describeScope(route),
            match: route.data.match,
          })),
        })),
      ),
    )
    return { edges: lists.flat() }
  })
}

/** The fields common to edges and routes: enabled modules and the backend. */
function describeScope({ id, data }: Row) {
  return {
    id,
    modules: Object.keys(data).filter(
      (name) => name !== 'backend' && (data[name] as Data | null)?.enabled === true,
    ),
    backend_id: (data.backend as Data | null | undefined)?.backend_id ?? null,
  }
}
