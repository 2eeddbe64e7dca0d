import { hostOf } from '../../../base/values/hostport.ts'
import { findReservation } from '../../../naming/index.ts'
import { HttpsEdge, HttpsRoute, TcpEdge, TlsEdge } from '../../../resources/index.ts'
import type { Reader } from '../../../store/index.ts'
import type { CommitContext, WriteContext } from '../../call.ts'
import { crud, render } from '../../crud/crud.ts'
import { fieldProblem, problem } from '../../problems.ts'
import { requireNoCloudEndpoint } from './cloud-endpoints.ts'
import { withSamlService } from './saml-service.ts'
import {
  requireCookieDomain,
  requireOneSignIn,
  requireStoredPolicy,
  requireValidPolicy,
} from './traffic-policies.ts'

/** `host:443` means the HTTPS listener wherever it is bound, so its actual port is normalised to 443. */
function normalizeHostports(hostports: readonly string[] | null, { config }: WriteContext): string[] | null {
  const boundSuffix = `:${config.httpsPort()}`
  const normalized = hostports?.map((hostport) =>
    hostport.endsWith(boundSuffix) ? `${hostport.slice(0, -boundSuffix.length)}:443` : hostport,
  )
  if (normalized === undefined) return null
  if (new Set(normalized).size < normalized.length)
    throw fieldProblem('hostports', 'invalid_field', 'hostports names the same hostport twice.')
  return normalized
}

/** HTTPS and TLS edges serve the account's own reserved domains, on port 443. */
async function requireReservedDomains(hostports: readonly string[] | null, context: CommitContext) {
  for (const [index, hostport] of (hostports ?? []).entries()) {
    const field = `hostports[${index}]`
    const host = hostOf(hostport)
    if (!hostport.endsWith(':443'))
      throw fieldProblem(
        field,
        'invalid_field',
        `${field}: HTTPS and TLS edges are served on port 443, so write ${host}:443.`,
      )
    if ((await findReservation(host, context.tx, context.principal.accountId)) === undefined)
      throw fieldProblem(
        field,
        'invalid_field',
        `${field}: ${host} is not a reserved domain of this account. Reserve it first with POST ${context.config.apiUrl()}/reserved_domains.`,
      )
    await requireNoCloudEndpoint(host, context)
  }
}

/** TCP edges serve the account's own reserved addresses. */
async function requireReservedAddresses(hostports: readonly string[] | null, context: CommitContext) {
  const { tx, principal, config } = context
  for (const [index, hostport] of (hostports ?? []).entries()) {
    const field = `hostports[${index}]`
    const holder = await tx.holder('address', hostport)
    if (holder === undefined || holder.account !== principal.accountId)
      throw fieldProblem(
        field,
        'invalid_field',
        `${field}: ${hostport} is not a reserved address of this account. Reserve one first with POST ${config.apiUrl()}/reserved_addrs.`,
      )
    await requireNoCloudEndpoint(hostport, context)
  }
}

export const tlsEdges = crud(TlsEdge, {
  async prepare(record, context) {
    await requireValidPolicy(record.traffic_policy, { protocol: 'tls', kind: 'edge' }, context)
    return { record: { ...record, hostports: normalizeHostports(record.hostports, context) } }
  },
  async commit(record, context) {
    await requireReservedDomains(record.hostports, context)
    return record
  },
})

export const tcpEdges = crud(TcpEdge, {
  async prepare(record, context) {
    await requireValidPolicy(record.traffic_policy, { protocol: 'tcp', kind: 'edge' }, context)
    return { record }
  },
  async commit(record, context) {
    await requireReservedAddresses(record.hostports, context)
    return record
  },
})

// Every response with an edge contains all its routes, so their number is bounded.
const MAX_ROUTES = 250

export const httpsRoutes = crud(HttpsRoute, {
  async commit(record, { existing, tx }) {
    if (existing !== undefined) return record
    const routes = await tx.referrers(record.edge_id, MAX_ROUTES)
    if (routes.length === MAX_ROUTES)
      throw problem('conflict', `An edge can have ${MAX_ROUTES} routes at most; delete one first.`)
    return record
  },
  async prepare(record, context) {
    const attachment = { protocol: 'https', kind: 'route' } as const
    const policy = await requireValidPolicy(record.traffic_policy, attachment, context)
    if (policy !== undefined)
      await requireCookieDomain(policy, await hostsOf(record.edge_id, context), context)
    requireOneSignIn(
      policy,
      (['oauth', 'oidc', 'saml'] as const).find((name) => record[name]?.enabled),
    )
    return { record: { ...record, saml: await withSamlService(record.saml, context) } }
  },
})

async function hostsOf(edgeId: string, { store, principal }: WriteContext): Promise<string[]> {
  const edge = await store.get(HttpsEdge.kind, principal.accountId, edgeId)
  return (edge?.data.hostports ?? []).map(hostOf)
}

async function routesOf(edgeId: string, accountId: string, store: Reader) {
  const referrers = await store.referrers(edgeId, MAX_ROUTES)
  const routes = await Promise.all(
    referrers
      .filter(({ kind }) => kind === HttpsRoute.kind)
      .map(({ id }) => store.get(HttpsRoute.kind, accountId, id)),
  )
  return routes.filter((route) => route !== undefined)
}

/** Checks the policies of an edge's routes for hosts that the edge gets now. */
async function requireRoutePolicies(
  hostports: readonly string[] | null,
  context: WriteContext<typeof HttpsEdge.kind>,
): Promise<void> {
  const { existing, store } = context
  if (existing === undefined) return
  const added = (hostports ?? []).filter((hostport) => !existing.data.hostports?.includes(hostport))
  if (added.length === 0) return
  for (const { secrets } of await routesOf(existing.id, existing.account, store))
    await requireStoredPolicy(secrets, { protocol: 'https', kind: 'route' }, added.map(hostOf), context)
}

export const httpsEdges = crud(HttpsEdge, {
  async prepare(record, context) {
    const hostports = normalizeHostports(record.hostports, context)
    await requireRoutePolicies(hostports, context)
    return { record: { ...record, hostports } }
  },
  async commit(record, context) {
    await requireReservedDomains(record.hostports, context)
    return record
  },
  async view(row, _record, call) {
    const routes = await routesOf(row.id, row.account, call.store)
    return { routes: await Promise.all(routes.map((route) => render(httpsRoutes, route, call))) }
  },
})
