import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BindOpts } from '../../protocol/index.ts'
import { toEndpointOptions } from './endpoint-options.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')
const PEM = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n'

test('every option of an https bind becomes an endpoint option', () => {
  const options = toEndpointOptions('https', {
    ProxyProto: 2,
    Auth: 'old:pass:word',
    BasicAuth: {
      credentials: [
        { username: 'a', cleartext_password: 'p' },
        { username: 'b', cleartext_password: 'q', hashed_password: base64('$2b$10$x') },
      ],
    },
    IPRestriction: { allow_cidrs: ['10.0.0.0/8'], deny_cidrs: ['10.1.0.0/16'] },
    RequestHeaders: { add: ['X-A: one:two'], remove: ['X-B'] },
    ResponseHeaders: { add: ['x-c:d'] },
    Compression: {},
    WebsocketTCPConverter: {},
    CircuitBreaker: { error_threshold: 0.5 },
    OAuth: { provider: 'google', allow_domains: ['ex.com'] },
    OIDC: { issuer_url: 'https://id.test', client_id: 'c', client_secret: 's', scopes: ['openid'] },
    WebhookVerification: { provider: 'github', secret: 'w' },
    UserAgentFilter: { allow: ['curl.*'], deny: [] },
    MutualTLSCA: { mutual_tls_ca: base64(PEM) },
  })

  assert.deepEqual(options, {
    proxyProto: 2,
    ipRestriction: { allow: ['10.0.0.0/8'], deny: ['10.1.0.0/16'] },
    basicAuth: [
      { username: 'a', password: 'p' },
      { username: 'b', password: 'q' },
      { username: 'old', password: 'pass:word' },
    ],
    requestHeaders: { add: [['x-a', 'one:two']], remove: ['x-b'] },
    responseHeaders: { add: [['x-c', 'd']], remove: [] },
    compression: true,
    websocketTcpConverter: true,
    circuitBreaker: { errorThreshold: 0.5 },
    oauth: {
      provider: 'google',
      clientId: '',
      clientSecret: '',
      allowEmails: [],
      allowDomains: ['ex.com'],
      allowGroups: [],
      allowClaims: [],
      scopes: [],
    },
    oidc: {
      issuerUrl: 'https://id.test',
      clientId: 'c',
      clientSecret: 's',
      allowEmails: [],
      allowDomains: [],
      allowGroups: [],
      allowClaims: [],
      scopes: ['openid'],
    },
    webhookVerification: { provider: 'github', secret: 'w' },
    userAgentFilter: { allow: ['curl.*'], deny: [] },
    mutualTls: { caPem: PEM },
  })
})

test('no options set nothing', () => {
  for (const proto of ['http', 'https', 'tcp', 'tls'] as const) {
    assert.deepEqual(toEndpointOptions(proto, {}), { proxyProto: 0 })
  }
})

test('a tls bind passes TLS through, or terminates it with the platform’s or its own certificate', () => {
  const terminated = toEndpointOptions('tls', {
    TLSTermination: { cert: base64(PEM), key: base64(PEM) },
    MutualTLSAtEdge: { mutual_tls_ca: base64(PEM) },
  })

  assert.equal(toEndpointOptions('tls', {}).tlsTermination, undefined)
  assert.deepEqual(toEndpointOptions('tls', { TLSTermination: {} }).tlsTermination, {})
  assert.deepEqual(terminated.tlsTermination, { certPem: PEM, keyPem: PEM })
  assert.deepEqual(terminated.mutualTls, { caPem: PEM })
})

const invalid: ['https' | 'tls' | 'tcp', BindOpts, RegExp][] = [
  ['https', { TrafficPolicy: 'on_http_request: [{actions: [{type: denny}]}]' }, /did you mean deny\?/],
  ['tcp', { TrafficPolicy: 'on_http_request: [{actions: [{type: deny}]}]' }, /use on_tcp_connect/],
  ['https', { Auth: 'nocolon' }, /user:password/],
  ['https', { BasicAuth: { credentials: [] } }, /at least one credential/],
  ['https', { BasicAuth: { credentials: [{ username: 'a' }] } }, /needs its password in clear/],
  [
    'https',
    { BasicAuth: { credentials: [{ username: 'a', hashed_password: base64('$2b$10$x') }] } },
    /needs its password in clear/,
  ],
  ['tcp', { IPRestriction: { allow_cidrs: ['10.0.0.1/8'] } }, /IPRestriction/],
  ['tcp', { IPRestriction: { deny_cidrs: ['everyone'] } }, /IPRestriction/],
  ['https', { RequestHeaders: { add: ['nocolon'] } }, /RequestHeaders/],
  ['https', { OIDC: { issuer_url: 'https://x', client_id: 'a', allow_claims: ['ops'] } }, /name=value/],
  [
    'https',
    { OIDC: { issuer_url: 'https://x', client_id: 'a', token_endpoint_auth_method: 'private_key_jwt' } },
    /use one of client_secret_basic/,
  ],
  [
    'https',
    { OIDC: { issuer_url: 'https://x', client_id: 'a', token_endpoint_auth_method: 'client_secret_post' } },
    /client secret: it is required/,
  ],
  ['https', { UserAgentFilter: { deny: ['('] } }, /UserAgentFilter: "\(" cannot be used as a pattern/],
  ['https', { UserAgentFilter: { allow: ['(a)\\1'] } }, /back-references cannot be matched in linear time/],
  ['https', { UserAgentFilter: { deny: ['(?=curl)'] } }, /look-around cannot be matched in linear time/],
  ['https', { UserAgentFilter: { deny: new Array(3).fill('(x{30}){30}') } }, /pattern is too large/],
  ['https', { MutualTLSCA: { mutual_tls_ca: base64('not pem') } }, /PEM/],
  ['tls', { TLSTermination: { cert: base64(PEM) } }, /both cert and key/],
  ['tls', { MutualTLSAtEdge: { mutual_tls_ca: base64(PEM) } }, /needs TLSTermination/],
]

for (const [proto, opts, message] of invalid) {
  test(`${JSON.stringify(opts).slice(0, 60)} is rejected for ${proto}`, () => {
    assert.throws(() => toEndpointOptions(proto, opts), message)
  })
}
