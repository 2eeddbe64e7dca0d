import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import { type Static, Type } from 'typebox'
import { matchesWords, requirePrincipal, searchWords } from '../../api/index.ts'
import { formatTimestamp } from '../../base/values/clock.ts'
import { hostOf } from '../../base/values/hostport.ts'
import type { Row, Store } from '../../store/index.ts'
import type { EdgeListing } from '../page-data.ts'
import { scanAll } from './scan.ts'

type Data = Readonly<Record<string, unknown>>

const KINDS = { edges_https: 'https', edges_tls: 'tls', edges_tcp: 'tcp' } as const

const WHOLE_NUMBER = Type.String({ pattern: '^[0-9]{1,7}$' })

/** Without parameters: everything, in the order of creation. */
const edgeQuery = Type.Object({
  q: Type.Optional(Type.String({ maxLength: 200 })),
  kind: Type.Optional(Type.Enum(['https', 'tls', 'tcp'])),
  /** Only the edges of these host names, or hosts with a port, with commas. */
  hosts: Type.Optional(Type.String({ maxLength: 16_384 })),
  /** Only the edges that send traffic to this backend themselves, or by a route. */
  backend: Type.Optional(Type.String({ maxLength: 64 })),
  sort: Type.Optional(Type.Enum(['name', 'kind', 'host', 'created'])),
  order: Type.Optional(Type.Enum(['ascending', 'descending'])),
  offset: Type.Optional(WHOLE_NUMBER),
  limit: Type.Optional(WHOLE_NUMBER),
})

type EdgeQuery = Static<typeof edgeQuery>

/**
 * `GET /dashboard/api/edges`: a summary of the edges, without module settings. The management API returns edges with
 * their secrets and audits the read, which a list of names does not need.
 */
export function mountEdgeList(
  http: FastifyInstance,
  { authenticate, store }: { authenticate: onRequestHookHandler; store: Store },
): void {
  http.get<{ Querystring: EdgeQuery }>(
    '/dashboard/api/edges',
    { onRequest: authenticate, schema: { querystring: edgeQuery } },
    async (request) => {
      const { accountId } = requirePrincipal(request)
      const { offset = '0', limit, ...query } = request.query
      const edges = await listEdges(store, accountId)
      const matching = selectEdges(edges, query)
      const first = Number(offset)
      return {
        edges: matching.slice(first, limit === undefined ? undefined : first + Number(limit)),
        matching: matching.length,
        total: edges.length,
      }
    },
  )
}

async function listEdges(store: Store, accountId: string): Promise<EdgeListing[]> {
  const routes = Map.groupBy(
    await scanAll(store, 'edges_https_routes', accountId),
    ({ data }) => data.edge_id,
  )
  const lists = await Promise.all(
    Object.entries(KINDS).map(async ([kind, name]) =>
      (await scanAll(store, kind, accountId)).map((edge) => ({
        ...describeScope(edge),
        kind: name,
        description: String(edge.data.description),
        hostports: (edge.data.hostports ?? []) as string[],
        created_at: formatTimestamp(edge.createdAt),
        routes: (routes.get(edge.id) ?? []).map((route) => ({
          ...describeScope(route),
          match: String(route.data.match),
        })),
      })),
    ),
  )
  return lists.flat()
}

/** The edges that match, in the order that was asked for. */
function selectEdges(
  edges: readonly EdgeListing[],
  { q = '', kind, hosts, backend, sort, order = 'ascending' }: EdgeQuery,
): EdgeListing[] {
  const words = searchWords(q)
  const served = hosts === undefined ? undefined : new Set(hosts.split(','))
  const selected = edges.filter((edge) => {
    if (kind !== undefined && edge.kind !== kind) return false
    if (served !== undefined && !edge.hostports.some((each) => served.has(hostOf(each)) || served.has(each)))
      return false
    if (backend !== undefined && ![edge, ...edge.routes].some(({ backend_id }) => backend_id === backend))
      return false
    return matchesWords([edge.description, ...edge.hostports, edge.id], words)
  })
  if (sort === undefined) return selected
  const direction = order === 'descending' ? -1 : 1
  return selected
    .map((edge) => ({ edge, key: SORT_KEYS[sort](edge) }))
    .sort((one, other) => direction * compare(one.key, other.key) || compare(one.edge.id, other.edge.id))
    .map(({ edge }) => edge)
}

const SORT_KEYS: Readonly<Record<NonNullable<EdgeQuery['sort']>, (edge: EdgeListing) => string>> = {
  name: ({ description, hostports, id }) => (description || hostports[0] || id).toLowerCase(),
  kind: ({ kind }) => kind,
  host: ({ hostports }) => hostports[0] ?? '',
  created: ({ created_at, id }) => `${created_at} ${id}`,
}

const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0)

/** The fields common to edges and routes: enabled modules and the backend. */
function describeScope({ id, data }: Row) {
  return {
    id,
    modules: Object.keys(data).filter(
      (name) => name !== 'backend' && (data[name] as Data | null)?.enabled === true,
    ),
    backend_id: ((data.backend as Data | null | undefined)?.backend_id ?? null) as string | null,
  }
}
