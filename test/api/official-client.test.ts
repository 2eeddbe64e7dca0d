import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { shareApi, startApi, type TestApi } from '../support/api.ts'
import { toCamelCase } from '../support/camel-case.ts'
import { createOnline } from '../support/online.ts'
import {
  type Body,
  certificates,
  createSample,
  moduleSamples,
  type StoredKind,
  samples,
} from '../support/samples.ts'

const { fresh } = await shareApi()

type ApiObject = Record<string, unknown> & { id: string }

/** The common part of the client's services; the client's own types would pull DOM types into every test. */
interface Service {
  create(body: object): Promise<ApiObject>
  get(id: unknown): Promise<ApiObject>
  update(body: object): Promise<ApiObject>
  list(beforeId?: unknown, limit?: string): Promise<ApiObject[]>
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

function createOfficialClient(api: TestApi, baseUrl = api.url): Ngrok {
  return new Client({ baseUrl, apiToken: api.account.apiKey.reveal() })
}

/** Every service of the client that we implement, and the fields whose map keys the client itself mangles. */
const SERVICES: [kind: StoredKind, select: (ngrok: Ngrok) => Service, unsupported?: string[]][] = [
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

for (const [kind, select, unsupported = []] of SERVICES)
  test(`the official client manages ${kind}`, async () => {
    const api = await fresh()
    const service = select(createOfficialClient(api))
    const fields = Object.entries(await samples[kind].create(api.call)).filter(
      ([key]) => !unsupported.includes(key),
    )
    const body = toCamelCase(Object.fromEntries(fields)) as Body

    const created = await service.create(body)
    assert.match(created.id, /^[a-z]+_[0-9A-Za-z]{27}$/)
    const fetched = await service.get(created.id)
    assert.deepEqual({ ...fetched, token: null }, { ...created, token: null })
    const change = Object.entries((await samples[kind].update?.(api.call)) ?? {}).filter(
      ([key]) => !unsupported.includes(key),
    )
    const updatedObject = await service.update({
      id: created.id,
      ...(toCamelCase(Object.fromEntries(change)) as Body),
    })
    assert.equal(updatedObject.id, created.id)
    if ('description' in body)
      assert.equal((await service.update({ id: created.id, description: '' })).description, '')
    const items = await service.list()
    assert.ok(items.some(({ id }) => id === created.id))
    assert.deepEqual(await service.delete(created.id), {})
    await assert.rejects(service.get(created.id), (error: Record<string, unknown>) => {
      assert.equal(error.statusCode, 404)
      assert.match(String(error.errorCode), /^ERR_NGROK_\d+$/)
      assert.match(String((error.details as Map<string, string>).get('operationId')), /^op_/)
      return true
    })
  })

test('the official client pages through long lists', async () => {
  const api = await fresh()
  const created: string[] = []
  for (let count = 0; count < 7; count++) created.unshift((await api.call.create('/ip_policies', {})).id)

  const items = await createOfficialClient(api).ipPolicies.list(undefined, '2')

  assert.deepEqual(
    items.map(({ id }) => id),
    created,
  )
})

test('the official client manages event destinations and sources under its own field names', async () => {
  const api = await fresh()
  const { eventDestinations, eventSubscriptions, eventSources } = createOfficialClient(api)
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

  const fetched = (await eventDestinations.get(monitoring.id)).target as Record<string, Body | null>
  assert.equal(fetched.datadog!.ddsite, 'datadoghq.com')
  assert.ok(!('monitoring' in fetched))
  const { auth } = (kinesis.target as { kinesis: { auth: { creds: Body } } }).kinesis
  assert.deepEqual(auth.creds, { awsAccessKeyId: 'AKIA', awsSecretAccessKey: null })
  const ownTarget = (await api.call('GET', `/event_destinations/${monitoring.id}`)).body.target
  assert.equal(ownTarget.monitoring.ddsite, 'datadoghq.com')
  assert.ok(!('datadog' in ownTarget))

  const subscription = await eventSubscriptions.create({ destinationIds: [kinesis.id] })
  const key = { subscriptionId: subscription.id, type: 'ip_policy_created.v0' }
  assert.equal((await eventSources.create(key)).type, key.type)
  assert.equal((await eventSources.update(key)).type, key.type)
  assert.equal((await eventSources.get(key)).type, key.type)
  const items = (await eventSources.list(key)) as unknown as { sources: Body[] }
  assert.equal(items.sources.length, 1)
  assert.deepEqual(await eventSources.delete(key), {})
  assert.equal((await eventDestinations.list()).length, 2)
})

test('the official client manages HTTPS routes', async () => {
  const api = await fresh()
  const { edges } = createOfficialClient(api)
  const edge = await edges.edgesHttps.create({})

  const route = await edges.edgesHttpsRoutes.create({
    edgeId: edge.id,
    matchType: 'path_prefix',
    match: '/',
    compression: { enabled: true },
  })

  const key = { edgeId: edge.id, id: route.id }
  assert.equal((await edges.edgesHttpsRoutes.get(key)).match, '/')
  const updatedObject = await edges.edgesHttpsRoutes.update({
    edgeId: edge.id,
    id: route.id,
    description: 'x',
  })
  assert.equal(updatedObject.description, 'x')
  assert.equal((updatedObject.compression as Body).enabled, true)
  const fetched = (await edges.edgesHttps.get(edge.id)) as unknown as { routes: Body[] }
  assert.deepEqual([fetched.routes[0]!.policy, fetched.routes[0]!.trafficPolicy], [null, null])
  assert.deepEqual(await edges.edgesHttpsRoutes.delete(key), {})
})

test('the official client manages every module', async () => {
  const api = await fresh()
  const modules = createOfficialClient(api).edgeModules
  const https = await createSample(api.call, 'edges_https')
  const route = await api.call.create(`/edges/https/${https.id}/routes`, {
    match_type: 'path_prefix',
    match: '/m',
  })
  const tls = await api.call.create('/edges/tls', { tls_termination: { terminate_at: 'edge' } })
  const tcp = await api.call.create('/edges/tcp', {})
  const modulesTested = new Set<string>()
  for (const [name, service] of Object.entries(modules)) {
    const [, scope = '', module = ''] = /^(httpsEdge|edgeRoute|tcpEdge|tlsEdge)(.+)Module$/.exec(name) ?? []
    const snakeCase = module.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).slice(1)
    const key = snakeCase === 'o_auth' ? 'oauth' : snakeCase
    const sample = moduleSamples[key]
    assert.ok(sample, `${name}: there is no module ${key}`)
    const body = toCamelCase(await sample(api.call)) as Body
    if (scope === 'httpsEdge') delete body.terminateAt
    const id = { httpsEdge: https.id, edgeRoute: route.id, tcpEdge: tcp.id, tlsEdge: tls.id }[scope]
    const selector = scope === 'edgeRoute' ? { edgeId: https.id, id } : id
    const argument = scope === 'edgeRoute' ? { edgeId: https.id, id, module: body } : { id, module: body }

    const settings = await service.replace(argument)

    assert.equal(settings.enabled, false, name)
    assert.deepEqual(await service.get(selector), settings, name)
    if (name !== 'tlsEdgeTlsTerminationModule') assert.deepEqual(await service.delete(selector), {}, name)
    modulesTested.add(name)
  }
  assert.equal(modulesTested.size, 20)
})

test('the official client sends commands to agents and lists what is online', async (t) => {
  const online = createOnline()
  const api = await startApi(t, { online })
  const { session, tunnel, endpoint } = online.putOnline(api.account.accountId, api.url)
  const ngrok = createOfficialClient(api)

  const [item] = await ngrok.tunnelSessions.list()
  assert.equal(item!.id, session)
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

test('the official client detaches certificates, and a base URL may end in a slash', async () => {
  const api = await fresh()
  const { leaf } = await certificates()
  const { reservedDomains, tlsCertificates } = createOfficialClient(api, `${api.url}/`)
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
