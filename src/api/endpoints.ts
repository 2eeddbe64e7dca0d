import { timestamp } from '../base/clock.ts'
import { joinHostPort } from '../base/hostport.ts'
import { prefixOf } from '../base/id.ts'
import { Endpoint, HttpsEdge, TcpEdge, TlsEdge } from '../resources/index.ts'
import type { Row } from '../store/index.ts'
import type { Call } from './call.ts'
import type { OnlineWanted } from './operations.ts'
import { hostOf, reservationOf } from './reserved-hosts.ts'
import { opaqueLabel } from './reserved-names.ts'

const EDGES = [
  { ...HttpsEdge, proto: 'https' },
  { ...TlsEdge, proto: 'tls' },
  { ...TcpEdge, proto: 'tcp' },
] as const

type EdgeKind = (typeof EDGES)[number]

/** One hostport of an edge. */
interface Place {
  readonly id: string
  readonly edge: Row
  readonly proto: EdgeKind['proto']
  readonly hostport: string
}

const EDGES_AT_ONCE = 100
// An endpoint's id begins like that of its edge, so that both have the same order; the rest tells its hostport.
const HEAD = 20
const TAIL = 7

function headOf(id: string): string {
  const suffix = id.indexOf('_') + 1
  return id.slice(suffix, suffix + HEAD)
}

function placesOf(edge: Row, proto: EdgeKind['proto']): Place[] {
  const hostports = (edge.data.hostports ?? []) as string[]
  return hostports.map((hostport) => ({
    id: `${Endpoint.prefix}_${headOf(edge.id)}${opaqueLabel(TAIL, edge.id, hostport)}`,
    edge,
    proto,
    hostport,
  }))
}

const newestFirst = (one: Place, other: Place) => (one.id < other.id ? 1 : -1)

/** The newest places of one kind of edge, from an id on. Edges are read until no later one could come before these. */
async function newestPlaces(
  { kind, prefix, proto }: EdgeKind,
  { store, principal }: Call,
  { from, limit }: OnlineWanted,
): Promise<Place[]> {
  const places: Place[] = []
  let before = from === undefined ? undefined : `${prefix}_${headOf(from)}~` // Sorts behind all ids that begin so.
  for (;;) {
    const edges = await store.lastKnown.list(kind, principal.accountId, { limit: EDGES_AT_ONCE, before })
    for (const edge of edges)
      places.push(...placesOf(edge, proto).filter(({ id }) => from === undefined || id <= from))
    const last = edges.at(-1)
    places.sort(newestFirst)
    const enough = places[limit - 1]
    if (last === undefined || edges.length < EDGES_AT_ONCE) return places
    if (enough !== undefined && headOf(last.id) < headOf(enough.id)) return places
    before = last.id
  }
}

async function show({ id, edge, proto, hostport }: Place, call: Call): Promise<Record<string, unknown>> {
  const { principal, config, showing } = call
  const { lastKnown } = call.store
  const host = hostOf(hostport)
  const reservation =
    proto === 'tcp'
      ? (await lastKnown.holder('address', hostport))?.id
      : await reservationOf(host, lastKnown, principal.accountId)
  const reserved = reservation === undefined ? null : { id: reservation, uri: showing.uriOf(reservation) }
  const port = proto === 'tcp' ? Number(hostport.slice(host.length + 1)) : config.httpsPort()
  const url = `${proto}://${proto !== 'tcp' && port === 443 ? host : joinHostPort(host, port)}`
  return {
    id,
    uri: showing.uriOf(id),
    created_at: timestamp(edge.createdAt),
    updated_at: timestamp(edge.createdAt),
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
    edge: { id: edge.id, uri: showing.uriOf(edge.id) },
  }
}

/** The endpoints that the account's edges make: one for each hostport (decision 100). They are shown while the database is away too. */
export async function edgeEndpoints(call: Call, wanted: OnlineWanted): Promise<Record<string, unknown>[]> {
  if (wanted.from !== undefined && prefixOf(wanted.from) !== Endpoint.prefix) return []
  const places = await Promise.all(EDGES.map((kind) => newestPlaces(kind, call, wanted)))
  const newest = places.flat().toSorted(newestFirst).slice(0, wanted.limit)
  return Promise.all(newest.map((place) => show(place, call)))
}
