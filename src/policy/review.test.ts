import assert from 'node:assert/strict'
import { test } from 'node:test'
import { writeMmdb } from '../../test/support/mmdb-writer.ts'
import { compileIpFile, type FactKind, factKindsOf } from './ip-data/ip-data.ts'
import { PolicyError } from './issue.ts'
import { reviewPolicy } from './validate.ts'

const ALL: ReadonlySet<FactKind> = new Set(['location', 'as', 'categories', 'tor'])

/** The sentences of a review, each with its line where the policy has several. */
function review(policy: object, known = ALL) {
  const { mistakes, warnings } = reviewPolicy(
    JSON.stringify(policy),
    { protocol: 'https', kind: 'endpoint' },
    known,
  )
  return {
    mistakes: mistakes.map(({ message }) => message),
    warnings: warnings.map(({ message }) => message),
  }
}

const deny = (...expressions: string[]) => ({ expressions, actions: [{ type: 'deny' }] })
const act = (type: string, config: object = {}) => ({ actions: [{ type, config }] })

test('a result that no action before sets is a mistake', () => {
  const cases = [
    [{ on_http_request: [deny('actions.ngrok.oauth.identity.email == "a"')] }, 1],
    [
      {
        on_http_request: [
          deny('has(actions.ngrok.oauth.identity)'),
          act('oauth', { provider: 'google', client_id: 'a', client_secret: 'b' }),
        ],
      },
      1,
    ],
    [
      {
        on_tcp_connect: [act('terminate-tls')],
        on_http_request: [deny("!('a' in actions.ngrok.terminate_tls.client.san.dns_names)")],
      },
      0,
    ],
    [{ on_http_request: [deny("!('a' in actions.ngrok.terminate_tls.client.san.dns_names)")] }, 1],
    [
      {
        on_http_request: [
          act('restrict-ips', { deny: ['10.0.0.0/8'] }),
          act('add-headers', { headers: { a: '${actions.ngrok.restrict_ips.matched_cidr}' } }),
        ],
      },
      0,
    ],
    [
      {
        on_http_request: [
          act('add-headers', { headers: { a: '${actions.ngrok.restrict_ips.matched_cidr}' } }),
        ],
      },
      1,
    ],
    [
      {
        on_http_request: [
          act('openid-connect', { issuer_url: 'https://a.example', client_id: 'a', client_secret: 'b' }),
        ],
        on_http_response: [act('log', { metadata: { who: '${actions.ngrok.oidc.identity.email}' } })],
      },
      0,
    ],
    [
      {
        on_http_response: [act('compress-response')],
        on_http_request: [deny('actions.ngrok.compress.already_compressed')],
      },
      1,
    ],
  ] as const
  for (const [policy, count] of cases)
    assert.equal(review(policy).mistakes.length, count, JSON.stringify(policy))
  const [message] = review(cases[3][0]).mistakes
  assert.equal(message, 'it reads actions.ngrok.terminate_tls, but no terminate-tls action comes before it')
})

test('keys that may be missing are named, unless the policy asks for them', () => {
  const warned = [
    "req.headers['x-key'][0] == 'a'",
    "!req.headers['authorization'].exists(x, x == 'a')",
    "req.headers.cookie[0] == 'a'",
    "req.url.query_params['a'][0] == 'b'",
    "getReqHeader('x-key')[0] == 'a'",
    "getReqCookie('a').value == 'b'",
    "conn.k8s.pod.metadata.annotations['team'] == 'a'",
    'vars.blocked == true',
  ]
  const quiet = [
    "'x-key' in req.headers && req.headers['x-key'][0] == 'a'",
    "hasReqHeader('X-Key') && req.headers['x-key'][0] == 'a'",
    "has(req.headers.cookie) && req.headers['cookie'][0] == 'a'",
    "hasReqCookie('a') && getReqCookie('a').value == 'b'",
    "getReqHeader('x-key').exists(x, x == 'a')",
    "req.headers['host'][0] == 'a'",
    "req.headers.exists(k, k == 'x-key' && req.headers[k][0] == 'a')",
    "req.headers[?'x-key'].hasValue()",
  ]
  for (const expression of warned)
    assert.equal(review({ on_http_request: [deny(expression)] }).warnings.length, 1, expression)
  for (const expression of quiet)
    assert.deepEqual(review({ on_http_request: [deny(expression)] }).warnings, [], expression)
  assert.deepEqual(
    review({ on_http_request: [deny("req.headers['a'][0] == 'b'", "'a' in req.headers")] }).warnings,
    [],
  )
  assert.deepEqual(
    review({
      on_http_request: [act('set-vars', { vars: [{ blocked: true }] }), deny('vars.blocked == true')],
    }).warnings,
    [],
  )
})

test('a header name in capitals that a macro compares is a mistake, also in a list', () => {
  const wrong = [
    "req.headers.exists(k, k == 'X-Key')",
    "req.headers.exists(k, k in ['a', 'X-Key'])",
    "req.headers.exists(k, k.startsWith('X-'))",
    "req.headers.exists(k, v, k == 'X-Key' && v[0] == 'A')",
  ]
  const right = [
    "req.headers.exists(k, k == 'x-key')",
    "req.headers['x-key'].exists(v, v == 'A')",
    "req.url.query_params.exists(k, k == 'A')",
  ]
  for (const expression of wrong)
    assert.equal(review({ on_http_request: [deny(expression)] }).mistakes.length, 1, expression)
  for (const expression of right)
    assert.deepEqual(review({ on_http_request: [deny(expression)] }).mistakes, [], expression)
})

test('facts are named that the server has no data for', () => {
  const policy = {
    on_http_request: [
      deny("conn.client_ip.geo.location.country_code == 'DE'"),
      deny("conn.geo.country == 'Germany'"),
      deny("'com.github' in conn.client_ip.categories", 'conn.client_ip.is_on_blocklist'),
      deny('conn.client_ip.as.number == 1', 'conn.client_ip.is_tor_node'),
      act('add-headers', { headers: { city: '${conn.client_ip.geo.location.city}' } }),
    ],
  }

  assert.deepEqual(review(policy).warnings, [])
  assert.equal(review(policy, new Set()).warnings.length, 7)
  assert.equal(review(policy, new Set(['location'])).warnings.length, 4)
})

test('imported files tell which facts they have', () => {
  const country = writeMmdb([['198.51.100.0/24', { country: { iso_code: 'DE', names: { en: 'Germany' } } }]])
  const network = writeMmdb([['198.51.100.0/24', { autonomous_system_number: 64_500 }]])
  const list = compileIpFile(Buffer.from('198.51.100.0/24 com.github.hooks'), undefined)

  assert.deepEqual([...factKindsOf([])], [])
  assert.deepEqual([...factKindsOf([country])], ['location'])
  assert.deepEqual([...factKindsOf([network, list])], ['as', 'categories'])
})

test('a SAML provider that wants signed requests is a warning until requests are signed', () => {
  const metadata = (attribute: string) =>
    `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata"><IDPSSODescriptor ${attribute}/></EntityDescriptor>`
  const warnings = (attribute: string, config: object = {}) =>
    review({ on_http_request: [act('saml', { idp_metadata: metadata(attribute), ...config })] }).warnings

  for (const value of ['true', '1'])
    assert.match(
      warnings(`WantAuthnRequestsSigned="${value}"`).join(),
      /wants signed requests.*set sign_requests/,
    )
  assert.deepEqual(warnings('WantAuthnRequestsSigned="true"', { sign_requests: true }), [])
  assert.deepEqual(warnings('WantAuthnRequestsSigned="false"'), [])
  assert.deepEqual(warnings(''), [])
  for (const config of [{}, { idp_metadata: 1 }, { idp_metadata: '<' }, 'text'])
    assert.throws(() => review({ on_http_request: [{ actions: [{ type: 'saml', config }] }] }), PolicyError)
})
