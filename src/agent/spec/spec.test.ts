import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { createTestCa } from '../../../test/support/test-ca.ts'
import type { EndpointDefinition, TunnelDefinition } from '../config/definitions.ts'
import { toEndpointSpec, toTunnelSpec } from './spec.ts'
import { SpecError } from './spec-error.ts'

test('an http tunnel serves only https by default', () => {
  const spec = toTunnelSpec('web', { proto: 'http', addr: '3000' })

  assert.deepEqual(
    spec.binds.map((bind) => bind.proto),
    ['https'],
  )
  assert.equal(spec.inspect, true)
  assert.equal(spec.upstream.text, 'http://localhost:3000')
})

test('two schemes are two binds, https first', () => {
  const spec = toTunnelSpec('web', { proto: 'http', addr: '3000', schemes: ['http', 'https'] })

  assert.deepEqual(
    spec.binds.map((bind) => bind.proto),
    ['https', 'http'],
  )
})

for (const [schemes, url, binds] of [
  [['http'], 'app.example.com', ['http']],
  [['http'], 'app.example.com:80', ['http']],
  [['http'], 'http://app.example.com', ['http']],
  [['https'], 'app.example.com', ['https']],
  [['https', 'http'], 'app.example.com', ['https', 'http']],
  [undefined, 'app.example.com', ['https']],
  [undefined, 'http://app.example.com', ['http']],
  [['http'], undefined, ['http']],
] as const) {
  test(`schemes ${schemes?.join(' and ')} with the url ${url} bind ${binds.join(' and ')}`, () => {
    const spec = toTunnelSpec('web', {
      proto: 'http',
      addr: '3000',
      ...(schemes ? { schemes: [...schemes] } : {}),
      ...(url ? { url } : {}),
    })

    assert.deepEqual(
      spec.binds.map(({ proto, opts }) => [proto, opts.Domain || undefined]),
      binds.map((proto) => [proto, url && 'app.example.com']),
    )
  })
}

test('a tcp tunnel requests its address and is never inspected', () => {
  const spec = toTunnelSpec('ssh', {
    proto: 'tcp',
    addr: '22',
    remote_addr: '1.tcp.example.com:2222',
    inspect: true,
  })

  assert.equal(spec.binds[0]?.opts.Addr, '1.tcp.example.com:2222')
  assert.equal(spec.inspect, false)
})

test('labels make a tunnel without binds', () => {
  const spec = toTunnelSpec('edge', { labels: ['env=prod', 'team=a=b'], addr: '443' })

  assert.deepEqual(spec.labels, { env: 'prod', team: 'a=b' })
  assert.deepEqual(spec.binds, [])
  assert.equal(spec.upstream.tls, false)
  assert.equal(spec.upstream.text, 'http://localhost:443')
})

test('options are translated to the names of the protocol', () => {
  const spec = toTunnelSpec('web', {
    proto: 'http',
    addr: '80',
    subdomain: 'blue',
    basic_auth: ['me:password1'],
    request_header: { add: ['x-a: b'] },
    ip_restriction: { allow_cidrs: ['10.0.0.0/8'] },
    circuit_breaker: 0.5,
    compression: true,
    proxy_proto: '2',
  })

  const opts = spec.binds[0]!.opts
  assert.equal(opts.Subdomain, 'blue')
  assert.deepEqual(opts.BasicAuth, { credentials: [{ username: 'me', cleartext_password: 'password1' }] })
  assert.deepEqual(opts.RequestHeaders, { add: ['x-a: b'] })
  assert.deepEqual(opts.IPRestriction, { allow_cidrs: ['10.0.0.0/8'] })
  assert.deepEqual(opts.CircuitBreaker, { error_threshold: 0.5 })
  assert.deepEqual(opts.Compression, {})
  assert.equal(opts.ProxyProto, 2)
})

test('a Host is rewritten to the upstream, set to a value or preserved', () => {
  const host = (host_header: string) =>
    toTunnelSpec('w', { proto: 'http', addr: '3000', host_header }).hostHeader

  assert.equal(host('rewrite'), 'localhost:3000')
  assert.equal(host('app.test'), 'app.test')
  assert.equal(host('preserve'), undefined)
})

test('a certificate and key terminate TLS in the agent, with client certificates when authorities are set', async () => {
  const dir = createTempDir()
  const ca = await createTestCa()
  const { cert, key } = await ca.issue('app.test')
  writeFileSync(join(dir, 'key.pem'), key)

  const spec = toTunnelSpec('t', {
    proto: 'tls',
    addr: '80',
    crt: cert,
    key: join(dir, 'key.pem'),
    mutual_tls_cas: ca.caPem,
  })

  assert.deepEqual(spec.termination, { cert, key, clientCas: ca.caPem })
  assert.equal(spec.binds[0]!.opts.MutualTLSAtAgent, true)
  assert.equal(spec.binds[0]!.opts.TLSTermination, undefined)
})

test('TLS terminated at the edge has no agent termination', () => {
  const spec = toTunnelSpec('t', { proto: 'tls', addr: '80', terminate_at: 'edge' })

  assert.deepEqual(spec.binds[0]!.opts.TLSTermination, {})
  assert.equal(spec.termination, undefined)
})

test('a certificate with the wrong key, or invalid authorities, are rejected', async () => {
  const ca = await createTestCa()
  const [one, other] = [await ca.issue('one.test'), await ca.issue('other.test')]
  const tls = { proto: 'tls', addr: '80' }

  assert.throws(
    () => toTunnelSpec('t', { ...tls, crt: one.cert, key: other.key }),
    /not a certificate and its/,
  )
  assert.throws(() => toTunnelSpec('t', { ...tls, mutual_tls_cas: one.key }), /holds no certificate/)
  assert.throws(
    () =>
      toTunnelSpec('t', {
        ...tls,
        mutual_tls_cas: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----',
      }),
    /cannot be read/,
  )
})

const INVALID: [title: string, definition: TunnelDefinition, message: RegExp][] = [
  ['an unknown protocol', { proto: 'x', addr: '80' }, /Invalid protocol name 'x'/],
  ['neither protocol nor labels', { addr: '80' }, /needs "proto"/],
  ['protocol and labels', { proto: 'http', labels: ['a=b'], addr: '80' }, /not both/],
  ['no address', { proto: 'http' }, /"addr" is required/],
  ['two names', { proto: 'http', addr: '80', domain: 'a.b', subdomain: 'c' }, /only one of/],
  [
    'a scheme against that of the url',
    { proto: 'http', addr: '80', url: 'https://a.b', schemes: ['http'] },
    /"url" says https and "schemes" says http/,
  ],
  [
    'a key of another kind',
    { proto: 'tcp', addr: '22', schemes: ['http'] },
    /does not apply to a tcp tunnel/,
  ],
  ['a short password', { proto: 'http', addr: '80', basic_auth: ['a:short'] }, /8 to 128/],
  ['a password without user', { proto: 'http', addr: '80', basic_auth: ['longenough'] }, /user:password/],
  ['a certificate without key', { proto: 'tls', addr: '80', crt: 'x' }, /belong together/],
  [
    'a header without name',
    { proto: 'http', addr: '80', request_header: { add: ['nonsense'] } },
    /name:value/,
  ],
  [
    'a header that smuggles a line',
    { proto: 'http', addr: '80', request_header: { add: ['a:b\r\nc:d'] } },
    /name:value/,
  ],
  ['a bad CIDR', { proto: 'tcp', addr: '22', ip_restriction: { deny_cidrs: ['1.2.3.4/33'] } }, /not a CIDR/],
  ['a bad label', { labels: ['novalue'], addr: '80' }, /key=value/],
  ['a bad address', { proto: 'tcp', addr: 'nowhere' }, /needs a port/],
  [
    'a host header with a line break',
    { proto: 'http', addr: '80', host_header: 'a\r\nb' },
    /not a host name/,
  ],
  [
    'a policy given twice',
    { proto: 'http', addr: '80', policy: '{}', traffic_policy: '{}' },
    /set only one of/,
  ],
  [
    'a missing file',
    { proto: 'tls', addr: '80', crt: '/nonexistent', key: '/nonexistent' },
    /cannot read the file/,
  ],
  [
    'oidc without the secret that its method needs',
    {
      proto: 'http',
      addr: '80',
      oidc: { issuer_url: 'https://i', client_id: 'c', token_endpoint_auth_method: 'client_secret_basic' },
    },
    /"oidc.client_secret": it is required/,
  ],
  ['incomplete oidc', { proto: 'http', addr: '80', oidc: { issuer_url: 'https://i' } }, /"oidc" needs/],
]

for (const [title, definition, message] of INVALID) {
  test(`${title} is rejected`, () => {
    assert.throws(
      () => toTunnelSpec('t', definition),
      (error) => error instanceof SpecError && message.test(error.message),
    )
  })
}

test('an endpoint takes its protocol from its url and keeps its definition', () => {
  const tcp = toEndpointSpec({ name: 'db', url: 'tcp://', upstream: { url: 'localhost:5432' } })
  const web = toEndpointSpec({
    name: 'web',
    url: 'https://app.example.com',
    upstream: { url: '3000', protocol: 'http2' },
  })

  assert.equal(tcp.kind, 'tcp')
  assert.equal(tcp.binds[0]?.opts.Addr, undefined)
  assert.equal(web.binds[0]?.proto, 'https')
  assert.equal(web.binds[0]?.opts.Domain, 'app.example.com')
  assert.equal(web.forwardsProto, 'http2')
  assert.equal(web.endpoint.upstreamUrl, '3000')
})

const INVALID_ENDPOINTS: [title: string, definition: EndpointDefinition, message: RegExp][] = [
  ['no name', { upstream: { url: '80' } }, /"name" is required/],
  ['no upstream', { name: 'a' }, /"upstream.url" is required/],
  ['a path', { name: 'a', url: 'https://a.b/', upstream: { url: '80' } }, /must not have a path/],
  ['an unknown scheme', { name: 'a', url: 'ftp://a.b', upstream: { url: '80' } }, /scheme ftp/],
  ['tcp without port', { name: 'a', url: 'tcp://a.b', upstream: { url: 'h:1' } }, /needs a port/],
  [
    'termination of something else than tls',
    {
      name: 'a',
      upstream: { url: '80' },
      agent_tls_termination: { server_certificate: 'x', server_private_key: 'y' },
    },
    /needs a tls:\/\/ url/,
  ],
]

for (const [title, definition, message] of INVALID_ENDPOINTS) {
  test(`an endpoint with ${title} is rejected`, () => {
    assert.throws(
      () => toEndpointSpec(definition),
      (error) => error instanceof SpecError && message.test(error.message),
    )
  })
}
