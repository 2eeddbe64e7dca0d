import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { sendHttp, sendHttps } from '../../../test/support/https-client.ts'
import { startHttp } from '../../../test/support/local-server.ts'
import {
  EndpointConfiguration,
  HttpResponseBackend,
  IpPolicy,
  IpPolicyRule,
  ReservedDomain,
} from '../../resources/index.ts'
import type { EdgeDependencies } from '../edge.ts'
import { createTestCertificates } from '../testing/certificates.ts'
import { TestConfiguration } from '../testing/configuration.ts'
import { startEdge } from '../testing/edge.ts'
import { echo } from '../testing/https-edge.ts'
import { createLocalTunnel, type LocalTunnelOptions, TestTunnels } from '../testing/tunnels.ts'

const HOST = 'app.adit.localhost'

interface Address {
  readonly host?: string
  readonly proto?: 'https' | 'tls'
}

/** An edge with functions that reserve names, open endpoints and ask them. */
async function start(t: TestContext, listener = echo, dependencies: Partial<EdgeDependencies> = {}) {
  const upstream = await startHttp(t, listener)
  const tunnels = new TestTunnels()
  const { ca, lookup } = await createTestCertificates('adit.localhost')
  const { edge, port, tlsPort } = await startEdge(t, tunnels, {}, { certificates: lookup, ...dependencies })
  const config = new TestConfiguration(edge)

  /** Reserves a domain with an endpoint configuration that has these modules; returns its id. */
  function reserve(modules: Record<string, unknown>, domain = HOST, account = config): string {
    const https_endpoint_configuration_id = account.create(EndpointConfiguration, {
      type: 'https',
      ...modules,
    })
    account.create(ReservedDomain, { domain, https_endpoint_configuration_id })
    return https_endpoint_configuration_id
  }

  /** Opens an endpoint of an agent. */
  function open(options: LocalTunnelOptions['options'] = {}, { host = HOST, proto = 'https' }: Address = {}) {
    const tunnel = createLocalTunnel(upstream, { proto, hostport: `${host}:443`, options })
    tunnels.add(host, tunnel)
    return tunnel
  }

  /** The status, the error code and a header of the answer. */
  async function ask(host = HOST, headers = {}): Promise<string> {
    await edge.scopes.flush()
    const response = await sendHttps(tlsPort, ca, { host, headers })
    const { status, headers: answered } = response
    return [status, answered['adit-error-code'] ?? [], answered['x-from'] ?? []].flat().join(' ')
  }

  return { edge, config, port, tlsPort, ca, reserve, open, ask }
}

/** A login service that admits every visitor. */
const signIn = {
  logins: { oauth: () => admit, oidc: () => admit, saml: () => admit, host: () => assert.fail() },
}
const admit = () => undefined
const SIGN_IN_POLICY = JSON.stringify({
  on_http_request: [
    { actions: [{ type: 'oauth', config: { provider: 'google', client_id: 'a', client_secret: 'b' } }] },
  ],
})

const from = (name: string) => ({ response_headers: { add: { 'x-from': name } } })

test('a configuration acts on the endpoints at its domain, before their own options', async (t) => {
  const { reserve, open, ask, config } = await start(t)
  const id = reserve(from('configuration'))
  open({ responseHeaders: { add: [['x-from', 'agent']], remove: [] } })

  assert.equal(await ask(), '200 agent, configuration')
  config.update(id, from('changed'))
  assert.equal(await ask(), '200 agent, changed')
  config.update(id, { response_headers: null })
  assert.equal(await ask(), '200 agent')
})

test('the most specific reservation decides, with or without a configuration', async (t) => {
  const { reserve, open, ask, config } = await start(t)
  reserve(from('wildcard'), '*.adit.localhost')
  config.create(ReservedDomain, { domain: 'plain.adit.localhost' })
  for (const host of [HOST, 'plain.adit.localhost']) open({}, { host })

  assert.equal(await ask(), '200 wildcard')
  assert.equal(await ask('plain.adit.localhost'), '200')
  reserve(from('exact'))
  assert.equal(await ask(), '200 exact')
})

test('a configuration of another account does not apply', async (t) => {
  const { edge, reserve, open, ask, config } = await start(t)
  const other = new TestConfiguration(edge, 'ac_other')
  const foreign = other.create(EndpointConfiguration, { type: 'https', ...from('other') })
  config.create(ReservedDomain, { domain: HOST, https_endpoint_configuration_id: foreign })
  reserve(from('other'), 'second.adit.localhost', other)
  for (const host of [HOST, 'second.adit.localhost']) open({}, { host })

  assert.equal(await ask(), '200')
  assert.equal(await ask('second.adit.localhost'), '200')
})

test('basic_auth denies all traffic while the agent has no credentials', async (t) => {
  const { reserve, open, ask } = await start(t)
  reserve({ basic_auth: { realm: 'Staff' } })
  const headers = { authorization: `Basic ${Buffer.from('ann:a long password').toString('base64')}` }

  open()
  assert.equal(await ask(HOST, headers), '503 ERR_ADIT_3212')
  open({ basicAuth: [{ username: 'ann', password: 'a long password' }] })
  assert.equal(await ask(HOST, headers), '200')
  assert.equal(await ask(), '401 ERR_ADIT_3208')
})

test('a TLS endpoint is closed by modules that need HTTP, and obeys the IP policy', async (t) => {
  const { edge, reserve, open, ask, config } = await start(t)
  const tunnel = open({}, { proto: 'tls' })
  const id = reserve({ compression: {} })

  await ask()
  assert.equal(tunnel.clients.length, 0)
  config.update(id, { compression: null })
  await ask()
  assert.equal(tunnel.clients.length, 1)
  config.update(id, { ip_policy: { ip_policy_ids: [config.create(IpPolicy, {})] } })
  await edge.scopes.flush()
  await ask()
  assert.equal(tunnel.clients.length, 1)
})

test('an endpoint denies all traffic where it and its configuration both sign visitors in', async (t) => {
  const { reserve, open, ask, config } = await start(t, echo, signIn)
  const oidc = { issuer: 'https://id.example.com', client_id: 'app', client_secret: 'secret' }
  const id = reserve({ oidc })
  open()
  assert.equal(await ask(), '200')

  open({ trafficPolicy: SIGN_IN_POLICY })
  assert.equal(await ask(), '503 ERR_ADIT_3212')
  config.update(id, { oidc: null })
  assert.equal(await ask(), '200')
})

test('a configuration that cannot be compiled denies until what it lacks is there', async (t) => {
  const { reserve, open, ask, config } = await start(t)
  const policy = config.create(IpPolicy, {})
  config.create(IpPolicyRule, { ip_policy_id: policy, cidr: '127.0.0.0/8', action: 'allow' })
  reserve({ ip_policy: { ip_policy_ids: [policy] }, ...from('configuration') })
  open()

  assert.equal(await ask(), '200 configuration')
  config.remove(policy)
  assert.equal(await ask(), '503 ERR_ADIT_3212')
})

test('open requests end when the configuration begins to deny their client', async (t) => {
  const { edge, reserve, open, tlsPort, ca, config } = await start(t, (_request, response) => {
    response.write('first')
  })
  const policy = config.create(IpPolicy, {})
  const rule = config.create(IpPolicyRule, { ip_policy_id: policy, cidr: '127.0.0.0/8', action: 'allow' })
  reserve({ ip_policy: { ip_policy_ids: [policy] } })
  const tunnel = open()
  await edge.scopes.flush()
  const pending = sendHttps(tlsPort, ca, { host: HOST })
  await eventually(() => tunnel.clients.length === 1, 'the request has reached the upstream')

  config.update(rule, { action: 'deny' })
  await edge.scopes.flush()

  assert.notEqual((await pending).error, '')
})

test('a backend is served with and without agents, and plain HTTP is redirected to it', async (t) => {
  const { edge, reserve, open, ask, config, port } = await start(t)
  const backend_id = config.create(HttpResponseBackend, { status_code: 418 })
  const id = reserve({ backend: { backend_id }, ...from('configuration') })

  assert.equal(await ask(), '418 configuration')
  assert.equal((await sendHttp(port, { host: HOST })).status, 307)
  open()
  assert.equal(await ask(), '418 configuration')
  config.update(backend_id, { status_code: 451 })
  assert.equal(await ask(), '451 configuration')
  config.update(id, { backend: { backend_id, enabled: false } })
  assert.equal(await ask(), '200 configuration')
  config.update(id, { backend: null })
  await edge.scopes.flush()
  assert.equal(await ask(), '200 configuration')
})
