import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type ApiClient, startApi } from './api.ts'
import { createOnline } from './online.ts'
import { type Body, createSample, moduleSamples, type StoredKind, samples } from './samples.ts'
import { recordVisitor } from './visitors.ts'

/** What a walk through an official client needs to call every method of one of its services. */
export interface ServicePlan {
  /** The service by its path in the client, such as `edges/https_routes`. */
  readonly service: string
  /** The ids in the path of an object; a service that creates one adds its id. */
  readonly item: Body
  readonly create?: Body
  readonly update?: Body
  /** The settings of a module. */
  readonly module?: Body
}

/** The arguments for all methods of the services of an official client, and an account to call them on. */
export interface ClientPlan {
  readonly base_url: string
  readonly api_key: string
  readonly services: readonly ServicePlan[]
}

/** The kind of the resource that a service manages, where it is not its path. */
const KINDS: Readonly<Record<string, StoredKind>> = {
  'backends/static_address': 'backends_static',
  secrets: 'vault_secrets',
  service_users: 'bot_users',
}

/** A target under the client's names for its fields. */
const DESTINATION = { format: 'json', target: { datadog: { api_key: 'key', ddsite: 'datadoghq.com' } } }

/** The module that was `traffic_policy` before it had that name. */
const FORMER_POLICY = { enabled: false, inbound: [], outbound: [] }

/** Creates the bodies and ids for each service, on an API of its own. */
export async function createClientPlan(t: TestContext, services: readonly string[]): Promise<ClientPlan> {
  const online = createOnline()
  const api = await startApi(t, { online })
  const { url, account, call } = api
  const { session, tunnel, endpoint } = online.putOnline(account.accountId, url)
  const visitor = await recordVisitor(api)
  const subscription = await createSample(call, 'event_subscriptions')
  const source = { subscription_id: subscription.id, type: 'ip_policy_deleted.v0' }
  const planModule = await createModules(call)
  const others: Record<string, Omit<ServicePlan, 'service'>> = {
    application_sessions: { item: { id: visitor.session } },
    application_users: { item: { id: visitor.user } },
    event_destinations: { item: {}, create: DESTINATION, update: DESTINATION },
    event_sources: { item: source, create: source, update: source },
    tunnel_sessions: { item: { id: session }, update: {} },
    tunnels: { item: { id: tunnel } },
  }
  const planned: ServicePlan[] = []
  for (const service of services) {
    const plan =
      others[service] ?? (await planModule(service)) ?? (await planResource(call, service, { id: endpoint }))
    planned.push({ service, ...plan })
  }
  return { base_url: url, api_key: account.apiKey.reveal(), services: planned }
}

async function planResource(api: ApiClient, service: string, endpoint: Body) {
  const sample = samples[KINDS[service] ?? (service.replace('/', '_') as StoredKind)]
  assert.ok(sample, `${service}: there is no such resource`)
  // Older versions read endpoints and cannot create them.
  const item = service === 'endpoints' ? endpoint : ((await sample.parents?.(api)) ?? {})
  return {
    item,
    create: { ...item, ...(await sample.create(api)) },
    update: (await sample.update?.(api)) ?? {},
  }
}

/** Creates an edge of each kind for the modules. */
async function createModules(api: ApiClient) {
  const https = await createSample(api, 'edges_https')
  const body = { match_type: 'path_prefix', match: '/m' }
  const route = await api.create(`/edges/https/${https.id}/routes`, body)
  const tls = await api.create('/edges/tls', { tls_termination: { terminate_at: 'edge' } })
  const tcp = await api.create('/edges/tcp', {})
  const items: Record<string, Body> = {
    https_edge_route: { edge_id: https.id, id: route.id },
    https_edge: { id: https.id },
    tls_edge: { id: tls.id },
    tcp_edge: { id: tcp.id },
  }
  return async (service: string) => {
    const [, scope = '', name = ''] = /^edge_modules\/(https_edge_route|\w+?_edge)_(\w+)$/.exec(service) ?? []
    const item = items[scope]
    if (item === undefined) return undefined
    const sample = name === 'policy' ? FORMER_POLICY : await moduleSamples[name]!(api)
    const { terminate_at, ...settings } = sample as Body
    const terminates = scope === 'tls_edge' && terminate_at !== undefined
    return { item, module: { ...settings, ...(terminates && { terminate_at }) } }
  }
}
