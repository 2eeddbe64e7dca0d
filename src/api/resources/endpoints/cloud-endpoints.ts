import { errorMessage } from '../../../base/text/error-message.ts'
import { isWithin, reverseLabels } from '../../../base/values/domain.ts'
import {
  DEFAULT_PORTS,
  isInternalName,
  isKubernetesProto,
  parseEndpointUrl,
  parseInternalUrl,
  parseKubernetesUrl,
} from '../../../base/values/endpoint-url.ts'
import { joinHostPort } from '../../../base/values/hostport.ts'
import { endpointAddress, findReservation } from '../../../naming/index.ts'
import { Endpoint, type StoredRecord } from '../../../resources/index.ts'
import type { ApiCall, CommitContext, WriteContext } from '../../call.ts'
import { changeTime } from '../../crud/change-time.ts'
import { crud, newestFirst, type OnlineQuery } from '../../crud/crud.ts'
import { fieldProblem, problem } from '../../problems.ts'
import { cloudEndpointsAt, type PoolMember, poolOf } from './endpoint-pools.ts'
import { edgeEndpoints } from './endpoints.ts'
import { requireCloudPolicy } from './traffic-policies.ts'

type EndpointRecord = StoredRecord<typeof Endpoint>

/** The endpoints of agents and edges, and the cloud endpoints, which are stored. */
export const endpoints = crud(Endpoint, {
  async prepare(record, context) {
    const { existing } = context
    const { proto, host, port } = parseEndpointUrl(record.url)
    if (existing !== undefined && !existing.data.url.startsWith(`${proto}:`))
      throw fieldProblem('url', 'endpoint_scheme_fixed', existing.data.url.split(':')[0]!)
    const binding = bindingOf(record, host, context)
    await requireCloudPolicy(record, { proto, host }, context)
    const next = {
      ...record,
      url: endpointAddress(proto, host, port).url,
      bindings: [binding],
      member: record.pooling_enabled ? context.id : '',
    }
    const updated_at = changeTime(context)
    return { record: updated_at === undefined ? next : { ...next, updated_at } }
  },

  async commit(record, context) {
    await requireNoConflict(record, context)
    if (record.bindings[0] !== 'public') return { ...record, domain_id: null, tcp_addr_id: null }
    const { proto, host, port } = parseEndpointUrl(record.url)
    const edge = await context.tx.holder('hostport', `${reverseLabels(host)}:${proto === 'tcp' ? port : 443}`)
    if (edge !== undefined) throw problem('endpoint_and_edge', host, `the edge ${edge.id}`)
    return { ...record, ...(await requireReserved(record.url, context)) }
  },

  async onlineItems(call, query) {
    const online = newestFrom(query, call.dependencies.online.endpoints(call.principal.accountId))
    const agents = online.map(async (endpoint) => ({
      ...withPolicy(endpoint, call),
      pools: await poolOf(endpoint as typeof endpoint & PoolMember, call),
    }))
    return [...(await Promise.all(agents)), ...(await edgeEndpoints(call, query))]
  },

  async view({ id }, record, call) {
    const { url } = record
    const { proto, host, port } = parseEndpointUrl(url)
    return {
      region: call.config.region,
      proto,
      scheme: proto,
      host,
      port,
      hostport: joinHostPort(host, port),
      public_url: url,
      pools: await poolOf({ ...record, id, proto, host }, call),
    }
  },
})

/** The reservation of a public URL. */
async function requireReserved(
  url: string,
  { tx, principal: { accountId } }: CommitContext,
): Promise<Pick<EndpointRecord, 'domain_id' | 'tcp_addr_id'>> {
  const { proto, host, port } = parseEndpointUrl(url)
  if (proto === 'tcp') {
    const holder = await tx.holder('address', `${host}:${port}`)
    if (holder?.account !== accountId) throw fieldProblem('url', 'endpoint_not_reserved', `${host}:${port}`)
    return { domain_id: null, tcp_addr_id: holder.id }
  }
  const domain_id = await findReservation(host, tx, accountId)
  if (domain_id === undefined) throw fieldProblem('url', 'endpoint_not_reserved', host)
  return { domain_id, tcp_addr_id: null }
}

/** The newest endpoints that a query asks for. */
function newestFrom(
  { from, limit }: OnlineQuery,
  endpoints: readonly Record<string, unknown>[],
): Record<string, unknown>[] {
  const cursor = endpoints.filter(({ id }) => id === from)
  return [...cursor, ...newestFirst(endpoints, from)].slice(0, limit)
}

/** The binding of an endpoint: the one it names, or the one that its host implies. Rejects a URL that does not fit. */
function bindingOf(
  { url, bindings }: EndpointRecord,
  host: string,
  { config }: WriteContext,
): EndpointRecord['bindings'][number] {
  const implied = isInternalName(host) && !isWithin(host, config.domain) ? 'internal' : 'public'
  const binding = bindings[0] ?? implied
  if (binding === 'public' && implied === 'internal')
    throw fieldProblem('bindings', 'endpoint_binding_invalid', `bindings: ${host} is an internal name.`)
  if (binding === 'public') {
    const { proto, port } = parseEndpointUrl(url)
    if (proto !== 'tcp' && port !== DEFAULT_PORTS[proto])
      throw fieldProblem(
        'url',
        'endpoint_port_fixed',
        `url: public ${proto} endpoints have no port in their URL.`,
      )
    return binding
  }
  const { proto } = parseEndpointUrl(url)
  if (binding === 'kubernetes' && !isKubernetesProto(proto))
    throw fieldProblem('url', 'endpoint_kubernetes_proto', proto)
  try {
    if (binding === 'kubernetes') parseKubernetesUrl(url)
    else parseInternalUrl(url)
    return binding
  } catch (error) {
    throw fieldProblem('url', 'invalid_field', `url: ${errorMessage(error)}`)
  }
}

/** https and tls share a public listener, and endpoints of both cannot pool. */
const RIVALS: Readonly<Record<string, string>> = { https: 'tls', tls: 'https' }

/** All endpoints at one URL have to pool, those of agents too. */
async function requireNoConflict(record: EndpointRecord, context: CommitContext): Promise<void> {
  const { url, pooling_enabled, bindings } = record
  const { tx, principal, id, dependencies } = context
  const { proto, host, port } = parseEndpointUrl(url)
  const isPublic = bindings[0] === 'public'
  const online = dependencies.online
    .endpoints(principal.accountId)
    .filter((endpoint) => endpoint.host === host && (endpoint.bindings as string[])[0] === bindings[0])
  const rival = isPublic ? RIVALS[proto] : undefined
  if (rival !== undefined) {
    const stored = await cloudEndpointsAt(`${rival}://${host}`, principal.accountId, tx)
    if (stored.length > 0 || online.some((endpoint) => endpoint.proto === rival))
      throw problem('endpoint_pool_closed', `${rival}://${host}`)
  }
  const holders = await cloudEndpointsAt(url, principal.accountId, tx)
  const stored = await Promise.all(
    holders
      .filter((holder) => holder.id !== id)
      .map((holder) => tx.get(Endpoint.kind, principal.accountId, holder.id)),
  )
  // Public names are served on the port of their listener, whatever their URLs say.
  const isNamed = isPublic && proto !== 'tcp'
  const pools = [
    ...stored.map((row) => row?.data.pooling_enabled === true),
    ...online
      .filter((endpoint) => endpoint.proto === proto && (isNamed || endpoint.port === port))
      .map((endpoint) => endpoint.pooling_enabled === true),
  ]
  if (pools.length === 0) return
  if (!pooling_enabled) throw problem('endpoint_must_pool', url)
  if (pools.includes(false)) throw problem('endpoint_pool_closed', url)
}

/** Rejects an edge at the host, or the TCP address, of a cloud endpoint. */
export async function requireNoCloudEndpoint(host: string, { tx, principal }: CommitContext): Promise<void> {
  for (const scheme of host.includes(':') ? ['tcp'] : ['https', 'http', 'tls']) {
    const [holder] = await cloudEndpointsAt(`${scheme}://${host}`, principal.accountId, tx)
    if (holder !== undefined) throw problem('endpoint_and_edge', host, `the cloud endpoint ${holder.id}`)
  }
}

/** A policy may contain secrets: those see it who may change it, and the audit log tells (P44). */
function withPolicy(endpoint: Record<string, unknown>, call: ApiCall): Record<string, unknown> {
  if (!endpoint.traffic_policy) return endpoint
  if (!call.renderContext.secrets) return { ...endpoint, traffic_policy: '' }
  call.secrets.shown = true
  return endpoint
}
