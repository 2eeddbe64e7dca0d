import { formatTimestamp } from '../../../base/values/clock.ts'
import { hostOf, joinHostPort } from '../../../base/values/hostport.ts'
import { prefixOf } from '../../../base/values/id.ts'
import { findReservation } from '../../../naming/index.ts'
import { Endpoint, HttpsEdge, TcpEdge, TlsEdge } from '../../../resources/index.ts'
import type { Row } from '../../../store/index.ts'
import type { ApiCall } from '../../call.ts'
import type { OnlineQuery } from '../../crud/crud.ts'
import { opaqueLabel } from './reserved-names.ts'

const EDGES = [
  { ...HttpsEdge, proto: 'https' },
  { ...TlsEdge, proto: 'tls' },
  { ...TcpEdge, proto: 'tcp' },
] as const

type EdgeKind = (typeof EDGES)[number]

/** One hostport of an edge. */
interface EdgeEndpoint {
  readonly id: string
  readonly edge: Row<EdgeKind['kind']>
  readonly proto: EdgeKind['proto']
  readonly hostport: string
}

const EDGE_BATCH_SIZE = 100
// An endpoint's id starts like its edge's id, so both sort alike; the rest is a hash of the hostport.
const ID_HEAD_LENGTH = 20
const ID_TAIL_LENGTH = 7

function idHead(id: string): string {
  const suffix = id.indexOf('_') + 1
  return id.slice(suffix, suffix + ID_HEAD_LENGTH)
}

function toEndpoints(edge: EdgeEndpoint['edge'], proto: EdgeKind['proto']): EdgeEndpoint[] {
  return (edge.data.hostports ?? []).map((hostport) => ({
    id: `${Endpoint.prefix}_${idHead(edge.id)}${opaqueLabel(ID_TAIL_LENGTH, edge.id, hostport)}`,
    edge,
    proto,
    hostport,
  }))
}

const newestFirst = (one: EdgeEndpoint, other: EdgeEndpoint) => (one.id < other.id ? 1 : -1)

/** The newest endpoints of one kind of edge, from `from` on. Reads edges until no further one can sort into the page. */
async function listNewest(
  { kind, prefix, proto }: EdgeKind,
  { store, principal }: ApiCall,
  { from, limit }: OnlineQuery,
): Promise<EdgeEndpoint[]> {
  const endpoints: EdgeEndpoint[] = []
  let cursor = from === undefined ? undefined : `${prefix}_${idHead(from)}~` // Sorts after every id with this prefix.
  for (;;) {
    const edges = await store.fallbackReader.list(kind, principal.accountId, {
      limit: EDGE_BATCH_SIZE,
      before: cursor,
    })
    for (const edge of edges)
      endpoints.push(...toEndpoints(edge, proto).filter(({ id }) => from === undefined || id <= from))
    const last = edges.at(-1)
    endpoints.sort(newestFirst)
    const lastNeeded = endpoints[limit - 1]
    if (last === undefined || edges.length < EDGE_BATCH_SIZE) return endpoints
    if (lastNeeded !== undefined && idHead(last.id) < idHead(lastNeeded.id)) return endpoints
    cursor = last.id
  }
}

async function renderEndpoint(
  { id, edge, proto, hostport }: EdgeEndpoint,
  call: ApiCall,
): Promise<Record<string, unknown>> {
  const { principal, config, renderContext } = call
  const { fallbackReader } = call.store
  const host = hostOf(hostport)
  const reservation =
    proto === 'tcp'
      ? (await fallbackReader.holder('address', hostport))?.id
      : await findReservation(host, fallbackReader, principal.accountId)
  const reserved =
    reservation === undefined ? null : { id: reservation, uri: renderContext.uriOf(reservation) }
  const port = proto === 'tcp' ? Number(hostport.slice(host.length + 1)) : config.httpsPort()
  const url = `${proto}://${proto !== 'tcp' && port === 443 ? host : joinHostPort(host, port)}`
  return {
    id,
    uri: renderContext.uriOf(id),
    created_at: formatTimestamp(edge.createdAt),
    updated_at: formatTimestamp(edge.createdAt),
    region: config.region,
    type: 'edge',
    proto,
    scheme: proto,
    host,
    port,
    hostport,
    public_url: url,
    url,
    bindings: ['public'],
    description: edge.data.description,
    metadata: edge.data.metadata,
    domain: proto === 'tcp' ? null : reserved,
    tcp_addr: proto === 'tcp' ? reserved : null,
    edge: { id: edge.id, uri: renderContext.uriOf(edge.id) },
  }
}

/** The endpoints of the account's edges, one per hostport (decision 100). Available also while the database is unreachable. */
export async function edgeEndpoints(call: ApiCall, query: OnlineQuery): Promise<Record<string, unknown>[]> {
  if (query.from !== undefined && prefixOf(query.from) !== Endpoint.prefix) return []
  const endpoints = await Promise.all(EDGES.map((kind) => listNewest(kind, call, query)))
  const newest = endpoints.flat().toSorted(newestFirst).slice(0, query.limit)
  return Promise.all(newest.map((endpoint) => renderEndpoint(endpoint, call)))
}
