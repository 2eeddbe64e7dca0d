import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { eventually } from '../../../test/support/eventually.ts'
import { sendHttp, sendHttps } from '../../../test/support/https-client.ts'
import { startHttp, startTcp } from '../../../test/support/local-server.ts'
import { openRawClient, RawClient } from '../../../test/support/raw-client.ts'
import {
  CertificateAuthority,
  HttpResponseBackend,
  HttpsEdge,
  HttpsRoute,
  IpPolicy,
  IpPolicyRule,
  IpRestriction,
  ReservedDomain,
  TcpEdge,
  TlsCertificate,
  TlsEdge,
  TunnelGroupBackend,
} from '../../resources/index.ts'
import { createClientAuthority } from '../testing/client-certificates.ts'
import { TestConfiguration } from '../testing/configuration.ts'
import { echo, HOST, type HttpsEdgeHarness, startHttpsEdge } from '../testing/https-edge.ts'
import { createLocalTunnel } from '../testing/tunnels.ts'

const respondWith = (text: string) => (_request: unknown, response: { end(text: string): void }) =>
  response.end(text)

/** Adds an edge for this name that responds with the name. */
function fixedEdge({ config }: Pick<HttpsEdgeHarness, 'config'>, name: string): string {
  const edge_id = config.create(HttpsEdge, { hostports: [`${name}:443`] })
  const backend = { backend_id: config.create(HttpResponseBackend, { body: name }) }
  config.create(HttpsRoute, { edge_id, match_type: 'path_prefix', match: '/', backend })
  return edge_id
}

test('plain HTTP to the host of an HTTPS edge redirects to https and keeps path and method', async (t) => {
  const { port, tlsPort } = await startHttpsEdge(t)

  const { status, headers } = await sendHttp(port, { host: HOST, path: '/a?b=c', method: 'POST' })

  assert.equal(status, 307)
  assert.equal(headers.location, `https://${HOST}:${tlsPort}/a?b=c`)
})

test('the most specific name wins, and at the same name an edge takes precedence over an agent', async (t) => {
  const harness = await startHttpsEdge(t)
  const { config, tunnels, tlsPort, ca, port } = harness
  for (const name of ['a.adit.localhost', '*.adit.localhost', '*.deep.adit.localhost'])
    fixedEdge(harness, name)
  const agent = async (name: string) =>
    tunnels.add(
      name,
      createLocalTunnel(await startHttp(t, respondWith(`agent ${name}`)), {
        proto: 'https',
        hostport: `${name}:443`,
      }),
    )
  for (const name of [
    'a.adit.localhost',
    'agent.adit.localhost',
    '*.deep.adit.localhost',
    '*.own.adit.localhost',
  ]) {
    await agent(name)
  }
  await config.waitUntilApplied()

  const expectedTexts = {
    'a.adit.localhost': 'a.adit.localhost',
    'A.Adit.localhost.': 'a.adit.localhost',
    'b.adit.localhost': '*.adit.localhost',
    'x.y.adit.localhost': '*.adit.localhost',
    'agent.adit.localhost': 'agent agent.adit.localhost',
    'z.deep.adit.localhost': '*.deep.adit.localhost',
    'z.own.adit.localhost': 'agent *.own.adit.localhost',
  }
  for (const [host, expected] of Object.entries(expectedTexts)) {
    const { text } = await sendHttps(tlsPort, ca, {
      host,
      servername: host.toLowerCase().replace(/\.$/, ''),
    })
    assert.equal(text, expected, host)
  }
  const plain = await sendHttp(port, { host: 'a.adit.localhost' })
  assert.equal(plain.status, 307)
})

test('after a gap, what was deleted meanwhile is gone, and everything else is served as before', async (t) => {
  const harness = await startHttpsEdge(t)
  const { config, tlsPort, ca } = harness
  const [first, second, guarded] = ['first', 'second', 'guarded'].map((name) => `${name}.adit.localhost`)
  const deletedEdge = fixedEdge(harness, second!)
  const policy = config.create(IpPolicy, {})
  config.create(IpPolicyRule, { ip_policy_id: policy, cidr: '127.0.0.0/8', action: 'allow' })
  fixedEdge(harness, first!)
  const guardedEdge = config.create(HttpsEdge, { hostports: [`${guarded}:443`] })
  config.create(HttpsRoute, {
    edge_id: guardedEdge,
    match_type: 'path_prefix',
    match: '/',
    ip_restriction: { ip_policy_ids: [policy] },
    backend: { backend_id: config.create(HttpResponseBackend, { body: 'admitted' }) },
  })
  const status = async (host: string | undefined) =>
    (await sendHttps(tlsPort, ca, { host: host!, servername: host! })).status
  // The first load replaces what came before it.
  config.reload()
  await config.waitUntilApplied()
  assert.deepEqual([await status(first), await status(second), await status(guarded)], [200, 200, 200])

  config.reload(deletedEdge, policy)
  await config.waitUntilApplied()

  assert.deepEqual([await status(first), await status(second), await status(guarded)], [200, 404, 503])
})

test('a TLS edge blocks HTTP and agents under its name', async (t) => {
  const { config, tunnels, tlsPort, port, ca } = await startHttpsEdge(t)
  const upstream = await startHttp(t, echo)
  for (const proto of ['http', 'https'] as const) {
    tunnels.add(
      'tls.adit.localhost',
      createLocalTunnel(upstream, { proto, hostport: 'tls.adit.localhost:443' }),
    )
  }
  config.create(TlsEdge, { hostports: ['tls.adit.localhost:443'] })
  await config.waitUntilApplied()

  const plain = await sendHttp(port, { host: 'tls.adit.localhost' })
  const secure = await sendHttps(tlsPort, ca, { host: 'tls.adit.localhost' })
  const misdirected = await sendHttps(tlsPort, ca, { host: 'tls.adit.localhost', servername: HOST })

  assert.deepEqual([plain.status, secure.status, misdirected.status], [404, 0, 404])
})

test('TLS edges terminate TLS or pass it through, and verify client certificates', async (t) => {
  const { config, tunnels, tlsPort, ca } = await startHttpsEdge(t)
  const authority = await createClientAuthority('clients')
  const client = await authority.issue('me')
  const upstream = await startTcp(t, (socket) => socket.pipe(socket))
  const tunnel = createLocalTunnel(upstream, { labels: { raw: 'tls' } })
  tunnels.tunnels.push(tunnel)
  const backend = { backend_id: config.create(TunnelGroupBackend, { labels: { raw: 'tls' } }) }
  const host = 'raw.adit.localhost'
  const edgeId = config.create(TlsEdge, {
    hostports: [`${host}:443`],
    backend,
    tls_termination: { terminate_at: 'edge', min_version: '1.3' },
  })
  await config.waitUntilApplied()
  const connect = (options = {}) => {
    const socket = connectTls({ port: tlsPort, host: '127.0.0.1', servername: host, ca, ...options })
    t.after(() => socket.destroy())
    return new RawClient(socket).write('hello')
  }

  await connect().untilText('hello')
  const old = await connect({ maxVersion: 'TLSv1.2' }).untilClosed()
  config.update(edgeId, {
    mutual_tls: {
      certificate_authority_ids: [config.create(CertificateAuthority, { ca_pem: authority.ca })],
    },
  })
  await config.waitUntilApplied()
  const anonymous = await connect().untilClosed()
  await connect(client).untilText('hello')
  const streams = tunnel.clients.length
  config.update(edgeId, { mutual_tls: null, tls_termination: null })
  await config.waitUntilApplied()
  // TLS now passes through to the upstream, which speaks none: it gets the ClientHello as it is.
  const passedThrough = await connect().untilClosed()

  assert.deepEqual([old.text, anonymous.text, passedThrough.text], ['', '', ''])
  assert.deepEqual(
    tunnel.clients.map(({ via, passthroughTls }) => `${via} ${passthroughTls}`),
    ['tls-edge false', 'tls-edge false', 'tls-edge true'],
  )
  assert.equal(streams, 2)
})

test('TCP edges open their port, reject denied addresses before a byte is sent, and close the port again', async (t) => {
  const { edge, config } = await startHttpsEdge(t)
  const port = 21_000 + Math.floor(Math.random() * 8000)
  const policy = config.create(IpPolicy, {})
  const rule = config.create(IpPolicyRule, { ip_policy_id: policy, cidr: '127.0.0.0/8', action: 'allow' })
  const backend = { backend_id: config.create(TunnelGroupBackend, { labels: { none: 'yet' } }) }
  const edgeId = config.create(TcpEdge, {
    hostports: [`localhost:${port}`],
    backend,
    ip_restriction: { ip_policy_ids: [policy] },
  })
  await config.waitUntilApplied()
  await assert.rejects(() => edge.ports.acquire(port), /taken/)
  const connect = () => openRawClient(t, port).untilClosed()
  const readCounters = () => [...edge.scopes.counts()].find(({ edgeId: id }) => id === edgeId)?.counters

  await eventually(() => readCounters() !== undefined, 'the edge is compiled')
  await connect()
  const admitted = readCounters()?.connections
  config.update(rule, { cidr: '10.0.0.0/8' })
  await config.waitUntilApplied()
  await connect()
  const denied = readCounters()
  config.remove(edgeId)
  await config.waitUntilApplied()
  const afterRemoval = await connect()

  assert.equal(admitted, 1)
  assert.deepEqual([denied?.connections, denied?.rejections], [1, 1])
  assert.match(String(afterRemoval.error), /ECONNREFUSED/)
  assert.equal(await edge.ports.acquire(port), port)
})

test('the IP restriction of an account covers all its edges and endpoints, and no other account', async (t) => {
  const harness = await startHttpsEdge(t)
  const { edge, config, tunnels, tlsPort, ca, port, sendRequest } = harness
  const upstream = await startHttp(t, respondWith('agent'))
  tunnels.add('agent.adit.localhost', createLocalTunnel(upstream))
  const others = new TestConfiguration(edge, 'ac_other')
  fixedEdge({ config: others }, 'other.adit.localhost')
  const policy = config.create(IpPolicy, {})
  config.create(IpPolicyRule, { ip_policy_id: policy, cidr: '10.0.0.0/8', action: 'allow' })
  const restriction = config.create(IpRestriction, { type: 'endpoints', ip_policy_ids: [policy] })
  const api = config.create(IpRestriction, { type: 'api', ip_policy_ids: [policy], enforced: true })
  const readStatuses = async () => {
    await config.waitUntilApplied()
    const agent = await sendHttp(port, { host: 'agent.adit.localhost' })
    const other = await sendHttps(tlsPort, ca, { host: 'other.adit.localhost' })
    return [(await sendRequest()).status, agent.status, other.status]
  }

  const announced = await readStatuses()
  config.update(restriction, { enforced: true })
  const enforced = await readStatuses()
  config.create(IpPolicyRule, { ip_policy_id: policy, cidr: '127.0.0.1/32', action: 'allow' })
  const widened = await readStatuses()
  config.remove(policy)
  const broken = await readStatuses()
  config.remove(restriction)
  const removed = await readStatuses()

  assert.ok(api)
  assert.deepEqual(announced, [200, 200, 200])
  assert.deepEqual(enforced, [403, 403, 200])
  assert.deepEqual(widened, [200, 200, 200])
  assert.deepEqual(broken, [403, 403, 200])
  assert.deepEqual(removed, [200, 200, 200])
})

test('a new deny rule closes open connections and leaves those of other routes alone', async (t) => {
  const { config, routeId, edgeId, backendId, tlsPort, ca } = await startHttpsEdge(
    t,
    (_request, response) => {
      response.write('begin ')
    },
  )
  config.create(HttpsRoute, {
    edge_id: edgeId,
    match_type: 'path_prefix',
    match: '/other',
    backend: { backend_id: backendId },
  })
  await config.waitUntilApplied()
  const start = (path: string) => {
    const socket = connectTls({
      port: tlsPort,
      host: '127.0.0.1',
      servername: HOST,
      ca,
      ALPNProtocols: ['http/1.1'],
    })
    t.after(() => socket.destroy())
    return new RawClient(socket).write(`GET ${path} HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  }
  const denied = await start('/').untilText('begin ')
  const other = await start('/other').untilText('begin ')

  const policy = config.create(IpPolicy, {})
  config.create(IpPolicyRule, { ip_policy_id: policy, cidr: '0.0.0.0/0', action: 'deny' })
  config.update(routeId, { ip_restriction: { ip_policy_ids: [policy] } })
  await denied.until(({ closed }) => closed, 'the end of the denied connection')

  await config.waitUntilApplied()
  assert.equal(other.closed, false)
})

test('a request in flight finishes on the configuration it started with', async (t) => {
  const waiting: (() => void)[] = []
  const { config, routeId, edgeId, sendRequest } = await startHttpsEdge(t, (_request, response) => {
    waiting.push(() => response.end('as it began'))
  })
  const slow = sendRequest()
  await eventually(() => waiting.length === 1, 'the request is in flight')

  const other = config.create(HttpResponseBackend, { body: 'new' })
  config.update(routeId, { backend: { backend_id: other }, response_headers: { add: { x: 'new' } } })
  await config.waitUntilApplied()
  const fresh = await sendRequest()
  config.update(edgeId, { tls_termination: { min_version: '1.3' } })
  config.remove(routeId)
  await config.waitUntilApplied()
  waiting[0]?.()

  const { status, text, headers } = await slow
  assert.deepEqual([status, text, headers.x], [200, 'as it began', undefined])
  assert.deepEqual([fresh.text, fresh.headers.x], ['new', 'new'])
})

/** Turned into steps, it would never be done. */
const NESTED_COUNTS = `${'(?:'.repeat(6)}${'){1000}'.repeat(6)}`

/** Configuration that cannot be applied and must deny all traffic (P36). */
const broken: Record<
  string,
  (harness: HttpsEdgeHarness) => { scopeId: string; settings: Record<string, unknown> } | undefined
> = {
  'an IP policy that is missing': ({ routeId }) => ({
    scopeId: routeId,
    settings: { ip_restriction: { enabled: true, ip_policy_ids: ['ipp_gone'] } },
  }),
  'an IP policy without rules': ({ config, routeId }) => ({
    scopeId: routeId,
    settings: { ip_restriction: { enabled: true, ip_policy_ids: [config.create(IpPolicy, {})] } },
  }),
  'no IP policy at all': ({ routeId }) => ({
    scopeId: routeId,
    settings: { ip_restriction: { enabled: true, ip_policy_ids: [] } },
  }),
  'an allowing policy beside a missing one': ({ config, routeId }) => {
    const policy = config.create(IpPolicy, {})
    config.create(IpPolicyRule, { ip_policy_id: policy, cidr: '0.0.0.0/0', action: 'allow' })
    return {
      scopeId: routeId,
      settings: { ip_restriction: { enabled: true, ip_policy_ids: [policy, 'ipp_gone'] } },
    }
  },
  'a rule that cannot be read': ({ config, routeId }) => {
    const policy = config.create(IpPolicy, {})
    config.create(IpPolicyRule, { ip_policy_id: policy, cidr: '0.0.0.0/0', action: 'allow' })
    config.write(IpPolicyRule, 'ipr_x', {
      ip_policy_id: policy,
      cidr: '010.1.2/8',
      action: 'deny',
    })
    return { scopeId: routeId, settings: { ip_restriction: { enabled: true, ip_policy_ids: [policy] } } }
  },
  'a certificate authority that is missing': ({ edgeId }) => ({
    scopeId: edgeId,
    settings: { mutual_tls: { enabled: true, certificate_authority_ids: ['ca_gone'] } },
  }),
  'no certificate authority at all': ({ edgeId }) => ({
    scopeId: edgeId,
    settings: { mutual_tls: { enabled: true, certificate_authority_ids: [] } },
  }),
  'a certificate authority that cannot be read': ({ config, edgeId }) => {
    const pem = '-----BEGIN CERTIFICATE-----\nbm90IGEgY2VydGlmaWNhdGU=\n-----END CERTIFICATE-----\n'
    const id = config.create(CertificateAuthority, { ca_pem: pem })
    return { scopeId: edgeId, settings: { mutual_tls: { enabled: true, certificate_authority_ids: [id] } } }
  },
  'a certificate authority that is empty': ({ config, edgeId }) => {
    const id = config.create(CertificateAuthority, { ca_pem: '' })
    return { scopeId: edgeId, settings: { mutual_tls: { enabled: true, certificate_authority_ids: [id] } } }
  },
  'a configured certificate that is missing': ({ config, edgeId }) => {
    config.create(ReservedDomain, { domain: HOST }, 'rd_1')
    config.write(ReservedDomain, 'rd_1', {
      ...config.record('rd_1'),
      certificate_id: 'cert_gone',
    })
    return { scopeId: edgeId, settings: {} }
  },
  'a configured certificate whose key cannot be unsealed': ({ config, edgeId }) => {
    config.write(TlsCertificate, 'cert_1', {
      certificate_pem: 'x',
      private_key_pem: null,
    })
    config.create(ReservedDomain, { domain: HOST }, 'rd_1')
    config.write(ReservedDomain, 'rd_1', {
      ...config.record('rd_1'),
      certificate_id: 'cert_1',
    })
    return { scopeId: edgeId, settings: {} }
  },
  'a webhook secret that cannot be unsealed': ({ routeId }) => ({
    scopeId: routeId,
    settings: { webhook_verification: { enabled: true, provider: 'github', secret: null } },
  }),
  'a webhook provider that cannot be checked': ({ routeId }) => ({
    scopeId: routeId,
    settings: { webhook_verification: { enabled: true, provider: 'vmware', secret: 'x' } },
  }),
  'a pattern that could take for ever': ({ routeId }) => ({
    scopeId: routeId,
    settings: { user_agent_filter: { enabled: true, allow: [], deny: ['(a)\\1'] } },
  }),
  'a pattern whose counts are nested': ({ routeId }) => ({
    scopeId: routeId,
    settings: { user_agent_filter: { enabled: true, allow: [], deny: [NESTED_COUNTS] } },
  }),
  'a policy with a pattern whose counts are nested': ({ routeId }) => {
    const action = { type: 'url-rewrite', config: { from: NESTED_COUNTS, to: '/' } }
    const value = JSON.stringify({ on_http_request: [{ actions: [action] }] })
    return { scopeId: routeId, settings: { traffic_policy: { enabled: true, value } } }
  },
  'a header that would change the framing': ({ routeId }) => ({
    scopeId: routeId,
    settings: { request_headers: { enabled: true, add: { 'transfer-encoding': 'chunked' }, remove: [] } },
  }),
  'settings that make no sense': ({ routeId }) => ({
    scopeId: routeId,
    settings: { ip_restriction: { enabled: true } },
  }),
}

for (const [name, arrange] of Object.entries(broken)) {
  test(`${name} denies all traffic of its own edge and affects no other`, async (t) => {
    const harness = await startHttpsEdge(t)
    const { edge, config, sendRequest, tunnel, tlsPort, ca } = harness
    fixedEdge(harness, 'fine.adit.localhost')
    await config.waitUntilApplied()
    assert.equal((await sendRequest()).status, 200)
    const streams = tunnel.clients.length
    const kind = (id: string) => (id.startsWith('edghtsrt') ? HttpsRoute : HttpsEdge)

    const { scopeId, settings } = arrange(harness)!
    config.write(kind(scopeId), scopeId, { ...config.record(scopeId), ...settings })
    await config.waitUntilApplied()
    const denied = await sendRequest({ method: 'POST', body: '{}', headers: { 'user-agent': 'aa' } })
    const fine = await sendHttps(tlsPort, ca, { host: 'fine.adit.localhost' })

    assert.ok([403, 503].includes(denied.status), `${denied.status}`)
    assert.equal(tunnel.clients.length, streams, 'the upstream is not reached')
    assert.equal(fine.text, 'fine.adit.localhost')
    if (denied.status === 503) assert.ok([...edge.scopes.broken()].some((scope) => scope.scopeId === scopeId))
  })
}

test('mutual TLS on a TLS edge with TLS passthrough denies all traffic', async (t) => {
  const { edge, config, tunnels, tlsPort } = await startHttpsEdge(t)
  const tunnel = createLocalTunnel(1, { labels: { raw: 'tls' } })
  tunnels.tunnels.push(tunnel)
  const id = config.create(TlsEdge, {
    hostports: ['raw.adit.localhost:443'],
    backend: { backend_id: config.create(TunnelGroupBackend, { labels: { raw: 'tls' } }) },
    mutual_tls: { certificate_authority_ids: [config.create(CertificateAuthority, { ca_pem: 'x' })] },
  })
  await config.waitUntilApplied()

  const socket = connectTls({ port: tlsPort, host: '127.0.0.1', servername: 'raw.adit.localhost' })
  t.after(() => socket.destroy())
  await new RawClient(socket).untilClosed()

  assert.equal(tunnel.clients.length, 0)
  assert.deepEqual(
    [...edge.scopes.broken()].map(({ scopeId }) => scopeId),
    [id],
  )
})
