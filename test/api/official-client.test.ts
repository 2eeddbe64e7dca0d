import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { shareApi, startApi, type TestApi } from '../support/api.ts'
import { createOnline } from '../support/online.ts'
import {
  type Body,
  certificates,
  create,
  moduleSamples,
  type StoredKind,
  samples,
} from '../support/samples.ts'

const { fresh } = await shareApi()

type Made = Record<string, unknown> & { id: string }

/** What services of the client have in common; its own types would bring those of browsers into every test. */
interface Service {
  create(body: object): Promise<Made>
  get(id: unknown): Promise<Made>
  update(body: object): Promise<Made>
  list(beforeId?: unknown, limit?: string): Promise<Made[]>
  delete(id: unknown): Promise<unknown>
}

interface ModuleService {
  replace(body: object): Promise<Body>
  get(id: unknown): Promise<Body>
  delete(id: unknown): Promise<unknown>
}

type Services = Record<
  | 'agentIngresses'
  | 'apiKeys'
  | 'botUsers'
  | 'certificateAuthorities'
  | 'credentials'
  | 'endpoints'
  | 'eventDestinations'
  | 'eventSources'
  | 'eventSubscriptions'
  | 'ipPolicies'
  | 'ipPolicyRules'
  | 'ipRestrictions'
  | 'reservedAddrs'
  | 'sshCertificateAuthorities'
  | 'sshCredentials'
  | 'sshHostCertificates'
  | 'sshUserCertificates'
  | 'tlsCertificates'
  | 'tunnels',
  Service
>

interface Ngrok extends Services {
  reservedDomains: Service &
    Record<'deleteCertificate' | 'deleteCertificateManagementPolicy', Service['delete']>
  tunnelSessions: Service & Record<'restart' | 'stop', Service['delete']>
  backends: Record<
    | 'failoverBackends'
    | 'httpResponseBackends'
    | 'staticBackends'
    | 'tunnelGroupBackends'
    | 'weightedBackends',
    Service
  >
  edges: Record<'edgesHttpsRoutes' | 'edgesHttps' | 'edgesTcp' | 'edgesTls', Service>
  edgeModules: Record<string, ModuleService>
}

const { Ngrok: Client } = createRequire(import.meta.url)('@ngrok/ngrok-api') as {
  Ngrok: new (config: { baseUrl: string; apiToken: string }) => Ngrok
}

function client(api: TestApi, baseUrl = api.url): Ngrok {
  return new Client({ baseUrl, apiToken: api.account.apiKey.reveal() })
}

/** The spelling that the client's arguments have. */
function camel(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camel)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      camel(inner),
    ]),
  )
}

/** Every service of the client whose resource we have, and fields whose map keys the client itself garbles. */
const SERVICES: [kind: StoredKind, of: (ngrok: Ngrok) => Service, garbled?: string[]][] = [
  ['agent_ingresses', (ngrok) => ngrok.agentIngresses],
  ['api_keys', (ngrok) => ngrok.apiKeys],
  ['bot_users', (ngrok) => ngrok.botUsers],
  ['certificate_authorities', (ngrok) => ngrok.certificateAuthorities],
  ['credentials', (ngrok) => ngrok.credentials],
  ['event_subscriptions', (ngrok) => ngrok.eventSubscriptions],
  ['ip_policies', (ngrok) => ngrok.ipPolicies],
  ['ip_policy_rules', (ngrok) => ngrok.ipPolicyRules],
  ['ip_restrictions', (ngrok) => ngrok.ipRestrictions],
  ['reserved_addrs', (ngrok) => ngrok.reservedAddrs],
  ['reserved_domains', (ngrok) => ngrok.reservedDomains],
  ['ssh_certificate_authorities', (ngrok) => ngrok.sshCertificateAuthorities],
  ['ssh_credentials', (ngrok) => ngrok.sshCredentials],
  ['ssh_host_certificates', (ngrok) => ngrok.sshHostCertificates],
  ['ssh_user_certificates', (ngrok) => ngrok.sshUserCertificates, ['critical_options', 'extensions']],
  ['tls_certificates', (ngrok) => ngrok.tlsCertificates],
  ['backends_failover', (ngrok) => ngrok.backends.failoverBackends],
  ['backends_http_response', (ngrok) => ngrok.backends.httpResponseBackends, ['headers']],
  ['backends_static', (ngrok) => ngrok.backends.staticBackends],
  ['backends_tunnel_group', (ngrok) => ngrok.backends.tunnelGroupBackends],
  ['backends_weighted', (ngrok) => ngrok.backends.weightedBackends, ['backends']],
  ['edges_https', (ngrok) => ngrok.edges.edgesHttps],
  ['edges_tcp', (ngrok) => ngrok.edges.edgesTcp],
  ['edges_tls', (ngrok) => ngrok.edges.edgesTls],
]

for (const [kind, of, garbled = []] of SERVICES)
  test(`the official client manages ${kind}`, async () => {
    const api = await fresh()
    const service = of(client(api))
    const sent = Object.entries(await samples[kind].create(api.call)).filter(
      ([key]) => !garbled.includes(key),
    )
    const body = camel(Object.fromEntries(sent)) as Body

    const made = await service.create(body)
    assert.match(made.id, /^[a-z]+_[0-9A-Za-z]{27}$/)
    const got = await service.get(made.id)
    assert.deepEqual({ ...got, token: null }, { ...made, token: null })
    const change = Object.entries((await samples[kind].update?.(api.call)) ?? {}).filter(
      ([key]) => !garbled.includes(key),
    )
    const updated = await service.update({ id: made.id, ...(camel(Object.fromEntries(change)) as Body) })
    assert.equal(updated.id, made.id)
    if ('description' in body)
      assert.equal((await service.update({ id: made.id, description: '' })).description, '')
    const listed = await service.list()
    assert.ok(listed.some(({ id }) => id === made.id))
    assert.deepEqual(await service.delete(made.id), {})
    await assert.rejects(service.get(made.id), (error: Record<string, unknown>) => {
      assert.equal(error.statusCode, 404)
      assert.match(String(error.errorCode), /^ERR_NGROK_\d+$/)
      assert.match(String((error.details as Map<string, string>).get('operationId')), /^op_/)
      return true
    })
  })

test('the official client pages through long lists', async () => {
  const api = await fresh()
  const made: string[] = []
  for (let count = 0; count < 7; count++) made.unshift((await api.call.create('/ip_policies', {})).id)

  const listed = await client(api).ipPolicies.list(undefined, '2')

  assert.deepEqual(
    listed.map(({ id }) => id),
    made,
  )
})

test('the official client manages event destinations and sources in its own names', async () => {
  const api = await fresh()
  const { eventDestinations, eventSubscriptions, eventSources } = client(api)
  const datadog = { apiKey: 'k', ddtags: 'a:b', service: 'web', ddsite: 'datadoghq.com' }

  const monitoring = await eventDestinations.create({ format: 'json', target: { datadog } })
  const kinesis = await eventDestinations.create({
    format: 'json',
    target: {
      kinesis: {
        auth: { creds: { awsAccessKeyId: 'AKIA', awsSecretAccessKey: 'hush' } },
        streamArn: 'arn:aws:kinesis:us-east-1:123456789012:stream/x',
      },
    },
  })

  const shown = (await eventDestinations.get(monitoring.id)).target as Record<string, Body | null>
  assert.equal(shown.datadog!.ddsite, 'datadoghq.com')
  assert.ok(!('monitoring' in shown))
  const { auth } = (kinesis.target as { kinesis: { auth: { creds: Body } } }).kinesis
  assert.deepEqual(auth.creds, { awsAccessKeyId: 'AKIA', awsSecretAccessKey: null })
  const ours = (await api.call('GET', `/event_destinations/${monitoring.id}`)).body.target
  assert.equal(ours.monitoring.ddsite, 'datadoghq.com')
  assert.ok(!('datadog' in ours))

  const subscription = await eventSubscriptions.create({ destinationIds: [kinesis.id] })
  const place = { subscriptionId: subscription.id, type: 'ip_policy_created.v0' }
  assert.equal((await eventSources.create(place)).type, place.type)
  assert.equal((await eventSources.update(place)).type, place.type)
  assert.equal((await eventSources.get(place)).type, place.type)
  const listed = (await eventSources.list(place)) as unknown as { sources: Body[] }
  assert.equal(listed.sources.length, 1)
  assert.deepEqual(await eventSources.delete(place), {})
  assert.equal((await eventDestinations.list()).length, 2)
})

test('the official client manages HTTPS routes', async () => {
  const api = await fresh()
  const { edges } = client(api)
  const edge = await edges.edgesHttps.create({})

  const route = await edges.edgesHttpsRoutes.create({
    edgeId: edge.id,
    matchType: 'path_prefix',
    match: '/',
    compression: { enabled: true },
  })

  const place = { edgeId: edge.id, id: route.id }
  assert.equal((await edges.edgesHttpsRoutes.get(place)).match, '/')
  const updated = await edges.edgesHttpsRoutes.update({
    edgeId: edge.id,
    id: route.id,
    description: 'x',
  })
  assert.equal(updated.description, 'x')
  assert.equal((updated.compression as Body).enabled, true)
  const shown = (await edges.edgesHttps.get(edge.id)) as unknown as { routes: Body[] }
  assert.deepEqual([shown.routes[0]!.policy, shown.routes[0]!.trafficPolicy], [null, null])
  assert.deepEqual(await edges.edgesHttpsRoutes.delete(place), {})
})

test('the official client manages every module', async () => {
  const api = await fresh()
  const modules = client(api).edgeModules
  const https = await create(api.call, 'edges_https')
  const route = await api.call.create(`/edges/https/${https.id}/routes`, {
    match_type: 'path_prefix',
    match: '/m',
  })
  const tls = await api.call.create('/edges/tls', { tls_termination: { terminate_at: 'edge' } })
  const tcp = await api.call.create('/edges/tcp', {})
  const tried = new Set<string>()
  for (const [name, service] of Object.entries(modules)) {
    const [, holder = '', module = ''] = /^(httpsEdge|edgeRoute|tcpEdge|tlsEdge)(.+)Module$/.exec(name) ?? []
    const snake = module.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).slice(1)
    const key = snake === 'o_auth' ? 'oauth' : snake
    const sample = moduleSamples[key]
    assert.ok(sample, `${name}: there is no module ${key}`)
    const body = camel(await sample(api.call)) as Body
    if (holder === 'httpsEdge') delete body.terminateAt
    const id = { httpsEdge: https.id, edgeRoute: route.id, tcpEdge: tcp.id, tlsEdge: tls.id }[holder]
    const place = holder === 'edgeRoute' ? { edgeId: https.id, id } : id
    const argument = holder === 'edgeRoute' ? { edgeId: https.id, id, module: body } : { id, module: body }

    const replaced = await service.replace(argument)

    assert.equal(replaced.enabled, false, name)
    assert.deepEqual(await service.get(place), replaced, name)
    if (name !== 'tlsEdgeTlsTerminationModule') assert.deepEqual(await service.delete(place), {}, name)
    tried.add(name)
  }
  assert.equal(tried.size, 20)
})

test('the official client commands agents and sees what is online', async (t) => {
  const online = createOnline()
  const api = await startApi(t, { online })
  const { session, tunnel, endpoint } = online.join(api.account.accountId, api.url)
  const ngrok = client(api)

  const [listed] = await ngrok.tunnelSessions.list()
  assert.equal(listed!.id, session)
  assert.equal((await ngrok.tunnelSessions.get(session)).transport, 'ngrok/v2')
  assert.deepEqual(await ngrok.tunnelSessions.restart(session), {})
  assert.deepEqual(await ngrok.tunnelSessions.stop(session), {})
  assert.deepEqual(await ngrok.tunnelSessions.update({ id: session }), {})
  assert.deepEqual(online.commands, [
    ['restart', session],
    ['stop', session],
    ['update', session],
  ])
  assert.equal((await ngrok.tunnels.list())[0]!.id, tunnel)
  assert.equal((await ngrok.endpoints.get(endpoint)).id, endpoint)
})

test('the official client detaches certificates, and takes a base address that ends in a slash', async () => {
  const api = await fresh()
  const { leaf } = await certificates()
  const { reservedDomains, tlsCertificates } = client(api, `${api.url}/`)
  const certificate = await tlsCertificates.create({
    certificatePem: leaf.cert,
    privateKeyPem: leaf.key,
  })
  const domain = await reservedDomains.create({
    domain: `official.${certificate.id.slice(5, 15).toLowerCase()}.example.com`,
    certificateId: certificate.id,
  })

  assert.deepEqual(await reservedDomains.deleteCertificate(domain.id), {})
  await reservedDomains.update({
    id: domain.id,
    certificateManagementPolicy: { authority: 'letsencrypt' },
  })
  assert.deepEqual(await reservedDomains.deleteCertificateManagementPolicy(domain.id), {})

  assert.equal((await reservedDomains.get(domain.id)).certificateManagementPolicy, null)
})
