import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSelfSigned } from '../../certs/index.ts'
import { PolicyError } from '../issue.ts'
import type { PhaseName } from '../phases.ts'
import { readPolicy } from '../validate.ts'
import { type ActionType, actions } from './index.ts'

interface Example {
  /** A configuration that sets every field. */
  readonly valid: Readonly<Record<string, unknown>>
  /** For each field a value that is refused, and the number of the mistake. */
  readonly invalid: Readonly<Record<string, readonly [value: unknown, code: number]>>
}

const { certificatePem, privateKeyPem } = await createSelfSigned({ commonName: 'app.example.com' })

const signIn = {
  auth_id: 'staff-1',
  auth_cookie_domain: 'example.com',
  client_id: 'app',
  client_secret: '${"se" + "cret"}',
  scopes: ['email'],
  authz_url_params: { prompt: 'consent' },
  max_session_duration: '8h',
  userinfo_refresh_interval: '5m',
  allow_cors_preflight: true,
}
const invalidSignIn = {
  auth_id: ['a;b', 2204],
  auth_cookie_domain: ['a b', 2243],
  client_id: ['', 2223],
  client_secret: ['x'.repeat(4097), 2221],
  scopes: ['email', 2204],
  authz_url_params: [{ state: 'x' }, 2244],
  max_session_duration: ['soon', 2225],
  userinfo_refresh_interval: ['0s', 2225],
  allow_cors_preflight: ['yes', 2204],
} as const

/** Every field of every action, valid and invalid; a missing action does not compile. */
const CORPUS: Readonly<Record<ActionType, Example>> = {
  'add-headers': {
    valid: { headers: { 'x-a': '${conn.client_ip}', host: 'inside' } },
    invalid: { headers: [{ 'user-agent': 'x' }, 2209] },
  },
  'basic-auth': {
    valid: { credentials: ['ann:password-1'], realm: 'shop', enforce: false },
    invalid: { credentials: [['ann'], 2257], realm: ['ä', 2258], enforce: ['no', 2204] },
  },
  'circuit-breaker': {
    valid: {
      error_threshold: 0.1,
      volume_threshold: 1,
      window_duration: '1s',
      tripped_duration: '2m',
      num_buckets: 10,
      enforce: true,
    },
    invalid: {
      error_threshold: [1.1, 2215],
      volume_threshold: [0, 2215],
      window_duration: ['3m', 2225],
      tripped_duration: ['0s', 2225],
      num_buckets: [9, 2215],
      enforce: [1, 2204],
    },
  },
  'close-connection': { valid: {}, invalid: {} },
  'compress-response': {
    valid: { algorithms: ['gzip', 'br', 'deflate', 'compress'] },
    invalid: { algorithms: [['zip'], 2222] },
  },
  'custom-response': {
    valid: { status_code: 503, body: 'later, ${req.host}', headers: { 'retry-after': '60' } },
    invalid: { status_code: [99, 2215], body: ['${', 2224], headers: [{ 'a b': 'c' }, 2208] },
  },
  deny: { valid: { status_code: 404 }, invalid: { status_code: [200, 2215] } },
  'forward-internal': {
    valid: { url: 'https://${req.host}.internal', on_error: 'continue', binding: 'internal' },
    invalid: { url: ['https://app.example.com', 2226], on_error: ['retry', 2222], binding: ['public', 2222] },
  },
  'http-request': {
    valid: {
      url: 'https://auth.example.com/${req.host}',
      method: 'POST',
      query_params: [{ key: 'host', value: '${req.host}' }],
      headers: { 'x-a': '${conn.client_ip}' },
      body: '${req.host}',
      max_redirects: 0,
      timeout: '30s',
      retry_condition: 'attempts < 3 && last_attempt.res.status_code >= 500',
      on_error: 'halt',
    },
    invalid: {
      url: ['auth.example.com', 2226],
      method: ['HEAD', 2222],
      query_params: [[{ key: '', value: 'x' }], 2223],
      headers: [{ 'a b': 'c' }, 2208],
      body: ['${', 2224],
      max_redirects: [101, 2215],
      timeout: ['31s', 2225],
      retry_condition: ['last_attempt.nothing', 2200],
      on_error: ['stop', 2222],
    },
  },
  'jwt-validation': {
    valid: {
      issuer: { allow_list: [{ value: 'https://id.example.com/' }] },
      audience: { allow_list: [{ value: 'shop' }] },
      http: { tokens: [{ type: 'jwt', method: 'header', name: 'authorization', prefix: 'Bearer ' }] },
      jws: {
        allowed_algorithms: ['RS256'],
        keys: {
          sources: { additional_jkus: ['https://id.example.com/keys'] },
          identification: { token_claims: ['kid'] },
        },
      },
    },
    invalid: {
      issuer: [{ allow_list: [] }, 2223],
      audience: [{ allow_list: [{}] }, 2234],
      http: [{ tokens: [{ type: 'jwt', method: 'cookie', name: 'x' }] }, 2222],
      jws: [{ allowed_algorithms: ['none'] }, 2222],
    },
  },
  log: { valid: { metadata: { a: '${conn.client_ip}' } }, invalid: { metadata: [{}, 2223] } },
  oauth: {
    valid: { provider: 'github', ...signIn, idle_session_timeout: '1h' },
    invalid: { provider: ['gitbub', 2222], ...invalidSignIn, idle_session_timeout: [true, 2225] },
  },
  'openid-connect': {
    valid: {
      issuer_url: 'https://id.example.com',
      ...signIn,
      token_endpoint_auth_method: 'client_secret_basic',
      idle_session_duration: '1h',
    },
    invalid: {
      issuer_url: ['id.example.com', 2226],
      ...invalidSignIn,
      token_endpoint_auth_method: ['private_key_jwt', 2222],
      idle_session_duration: [true, 2225],
    },
  },
  'rate-limit': {
    valid: {
      name: 'all',
      algorithm: 'sliding_window',
      capacity: 1,
      rate: 60_000_000_000,
      bucket_key: ['conn.client_ip', 'req.host'],
      enforce: false,
    },
    invalid: {
      name: ['', 2223],
      algorithm: ['token_bucket', 2222],
      capacity: [0, 2215],
      rate: ['65s', 2225],
      bucket_key: [['req.nothing'], 2200],
      enforce: ['', 2204],
    },
  },
  redirect: {
    valid: { from: '/old/(\\w+)', to: '/new/$1', status_code: 301, headers: { 'x-a': 'b' } },
    invalid: {
      from: ['(?=x)', 2261],
      to: ['', 2223],
      status_code: [200, 2215],
      headers: [{ 'x-a': 'b\r\nc: d' }, 2210],
    },
  },
  'remove-headers': { valid: { headers: ['x-a'] }, invalid: { headers: [['user-agent'], 2209] } },
  'request-body-find-replace': {
    valid: {
      replacements: [
        { from: 'a(b)', to: '$1' },
        { from: '${req.host}', to: '' },
      ],
    },
    invalid: { replacements: [[{ from: '(', to: '' }], 2261] },
  },
  'response-body-find-replace': {
    valid: {
      replacements: [
        { from: 'a(b)', to: '$1' },
        { from: '${req.host}', to: '' },
      ],
    },
    invalid: { replacements: [[{ from: '(', to: '' }], 2261] },
  },
  'response-timeout': { valid: { duration: '24h' }, invalid: { duration: ['25h', 2225] } },
  'restrict-ips': {
    valid: {
      enforce: true,
      allow: ['10.0.0.0/8', '${conn.client_ip}/32'],
      deny: ['10.1.0.0/16'],
      ip_policies: ['ipp_1'],
    },
    invalid: {
      enforce: [0, 2204],
      allow: [['10.0.0.0/40'], 2217],
      deny: [['10.0.0.0/33'], 2217],
      ip_policies: [['policy'], 2216],
    },
  },
  saml: {
    valid: {
      idp_metadata: 'https://idp.example.com/metadata',
      nameid_format: 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress',
      force_authn: true,
      allow_idp_initiated: false,
      sign_requests: true,
      email_attribute: 'mail',
      name_attribute: 'displayName',
      groups_attribute: 'urn:oid:1.3.6.1.4.1.5923.1.5.1.1',
      max_session_duration: '8h',
      idle_session_timeout: '1h',
      allow_cors_preflight: true,
    },
    invalid: {
      idp_metadata: ['<html/>', 2204],
      nameid_format: ['email', 2222],
      force_authn: [1, 2204],
      allow_idp_initiated: [1, 2204],
      sign_requests: ['yes', 2204],
      email_attribute: [1, 2204],
      name_attribute: [1, 2204],
      groups_attribute: [['groups'], 2204],
      max_session_duration: ['soon', 2225],
      idle_session_timeout: [true, 2225],
      allow_cors_preflight: ['yes', 2204],
    },
  },
  'set-vars': { valid: { vars: [{ a: '${1 + 1}' }] }, invalid: { vars: [[{ a: 1, b: 2 }], 2250] } },
  'sse-find-replace': {
    valid: {
      replacements: [
        { from: 'a(b)', to: '$1' },
        { field: 'retry', from: '${req.host}', to: '' },
      ],
    },
    invalid: { replacements: [[{ field: 'event', from: 'a', to: '' }], 2222] },
  },
  'terminate-tls': {
    valid: {
      min_version: '1.2',
      max_version: '1.3',
      server_certificate: certificatePem,
      server_private_key: privateKeyPem.reveal(),
      mutual_tls_certificate_authorities: [certificatePem, 'ca_1'],
      mutual_tls_verification_strategy: 'require-and-verify',
    },
    invalid: {
      min_version: ['1.1', 2222],
      max_version: [1.3, 2222],
      server_certificate: ['none', 2204],
      server_private_key: ["${secrets.get('v', conn.client_ip)}", 2224],
      mutual_tls_certificate_authorities: [['none'], 2204],
      mutual_tls_verification_strategy: ['none', 2222],
    },
  },
  'url-rewrite': {
    valid: { from: '/v1/', to: '/' },
    invalid: { from: ['(', 2261], to: ['${req.nothing}', 2224] },
  },
  'verify-webhook': {
    valid: { provider: 'linear', secret: 'key', enforce: false },
    invalid: { provider: ['unknown', 2222], secret: ['${', 2224], enforce: ['x', 2204] },
  },
}

function codesOf(type: string, phase: PhaseName, config: object): number[] {
  const policy = { [phase]: [{ actions: [{ type, config }] }] }
  try {
    const protocol = phase === 'on_tcp_connect' ? 'tls' : 'https'
    readPolicy(JSON.stringify(policy), { protocol, kind: 'endpoint' })
    return []
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error
    return error.issues.map(({ code }) => code)
  }
}

for (const { type, phases, config } of actions)
  test(`every field of ${type} is read and checked in each of its phases`, () => {
    const { valid, invalid } = CORPUS[type as ActionType]
    const fields = Object.keys((config.schema as { properties?: object }).properties ?? {}).sort()
    assert.deepEqual(Object.keys(valid).sort(), fields, 'the valid example sets every field')
    assert.deepEqual(Object.keys(invalid).sort(), fields, 'every field has an invalid example')
    for (const phase of phases) {
      assert.deepEqual(codesOf(type, phase, withoutRequest(valid, phase)), [], phase)
      assert.ok(codesOf(type, phase, { ...valid, no_such_field: 1 }).includes(2203), phase)
      for (const [field, [value, code]] of Object.entries(invalid))
        assert.ok(codesOf(type, phase, { ...valid, [field]: value }).includes(code), `${phase}: ${field}`)
    }
  })

/** A connection has no request yet. */
function withoutRequest(config: object, phase: PhaseName): object {
  return phase === 'on_tcp_connect'
    ? JSON.parse(JSON.stringify(config).replaceAll('req.host', 'endpoint.host'))
    : config
}
