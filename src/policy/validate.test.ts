import assert from 'node:assert/strict'
import { test } from 'node:test'
import { issueText, PolicyError } from './issue.ts'
import type { Attachment } from './phases.ts'
import { readPolicy } from './validate.ts'

const HTTPS: Attachment = { protocol: 'https', kind: 'endpoint' }
const TCP: Attachment = { protocol: 'tcp', kind: 'endpoint' }

/** The mistakes of a policy, each as `code place: message`. */
function mistakesOf(text: string, attachment = HTTPS): string[] {
  try {
    readPolicy(text, attachment)
    return []
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error
    return error.issues.map((issue) => `${issue.code} ${issueText(issue)}`)
  }
}

/** The mistakes of one action with this configuration. */
const mistakesIn = (type: string, config: unknown, phase = 'on_http_request') =>
  mistakesOf(JSON.stringify({ [phase]: [{ actions: [{ type, config }] }] }))

test('YAML and JSON are the same policy', () => {
  const yaml = readPolicy(
    'on_http_request:\n  - name: first\n    expressions: ["true"]\n    actions:\n      - type: deny\n',
    HTTPS,
  )
  const json = readPolicy(
    '{"on_http_request":[{"name":"first","expressions":["true"],"actions":[{"type":"deny"}]}]}',
    HTTPS,
  )

  assert.equal(JSON.stringify(yaml), JSON.stringify(json))
  assert.equal(yaml.phases.on_http_request?.[0]?.name, 'first')
})

test('a mistake names its phase, rule, action, field and line', () => {
  const text =
    'on_http_request:\n  - actions:\n      - type: deny\n  - actions:\n      - type: log\n        config:\n          metadata: {a: b}\n      - type: deny\n        config:\n          status_code: 200\n'

  assert.deepEqual(mistakesOf(text), [
    '2215 on_http_request, rule 2, action 2 (deny), config.status_code: it must be between 400 and 599 (line 10 of the policy)',
  ])
})

test('the older forms are read: inbound and outbound, and names with capitals', () => {
  const rule = { Name: 'n', Expressions: ['true'], Actions: [{ Type: 'deny', Config: {} }] }
  const http = readPolicy(JSON.stringify({ Inbound: [rule] }), HTTPS)
  const tcp = readPolicy(JSON.stringify({ inbound: [{ actions: [{ type: 'deny' }] }] }), TCP)
  const response = { actions: [{ type: 'add-headers', config: { headers: { a: 'b' } } }] }
  const both = readPolicy(JSON.stringify({ inbound: [rule], outbound: [response] }), HTTPS)

  assert.deepEqual(Object.keys(http.phases), ['on_http_request'])
  assert.deepEqual(Object.keys(tcp.phases), ['on_tcp_connect'])
  assert.deepEqual(Object.keys(both.phases), ['on_http_request', 'on_http_response'])
})

test('rules and policies that are switched off are dropped', () => {
  const off = readPolicy('on_http_request: [{enabled: false, actions: [{type: deny}]}]', HTTPS)
  const none = readPolicy('{enabled: false, inbound: [{actions: [{type: deny}]}]}', HTTPS)

  assert.deepEqual([off.phases, none.phases], [{}, {}])
})

const DOCUMENTS: readonly [what: string, text: string, expected: RegExp, attachment?: Attachment][] = [
  ['text that is no YAML', 'on_http_request: [', /^2236 the policy is neither YAML nor JSON/],
  ['a list', '[]', /^2236 a policy is a map of phases/],
  ['an unknown phase', 'on_request: []', /^2236 on_request: "on_request" is not a phase/],
  ['a phase that is no list', 'on_http_request: {}', /^2236 on_http_request: it must be a list of rules/],
  ['a rule without actions', 'on_http_request: [{name: x}]', /^2206 on_http_request, rule 1/],
  ['an empty list of actions', 'on_http_request: [{actions: []}]', /^2206/],
  [
    'an unknown field of a rule',
    'on_http_request: [{actions: [{type: deny}], expression: []}]',
    /did you mean expressions\?/,
  ],
  ['an unknown action', 'on_http_request: [{actions: [{type: denny}]}]', /^2201 .*did you mean deny\?/],
  ['an action without a type', 'on_http_request: [{actions: [{config: {}}]}]', /^2201/],
  [
    'an action of another phase',
    'on_http_response: [{actions: [{type: deny}]}]',
    /^2202 .*only in on_tcp_connect, on_http_request/,
  ],
  [
    'an action that is never reached',
    'on_http_request: [{actions: [{type: deny}, {type: deny}]}]',
    /^2207 .*action 2/,
  ],
  [
    'an expression that is no CEL',
    'on_http_request: [{expressions: ["req.method =="], actions: [{type: deny}]}]',
    /^2200 on_http_request, rule 1, expression 1/,
  ],
  [
    'an expression that is no condition',
    'on_http_request: [{expressions: ["req.method"], actions: [{type: deny}]}]',
    /^2200 .*true or false/,
  ],
  [
    'a list where a condition is wanted',
    'on_http_request: [{expressions: ["[1] && true"], actions: [{type: deny}]}]',
    /^2200 .*bool was expected/,
  ],
  [
    'a variable of a later phase',
    'on_http_request: [{expressions: ["res.status_code == 1"], actions: [{type: deny}]}]',
    /^2200 .*res/,
  ],
  [
    'a forwarded connection of an https endpoint',
    'on_tcp_connect: [{actions: [{type: forward-internal, config: {url: "tcp://a.internal:1"}}]}]',
    /^2226 .*an endpoint for requests/,
  ],
  [
    'a connection that is forwarded to an https endpoint',
    'on_tcp_connect: [{actions: [{type: forward-internal, config: {url: "https://a.internal"}}]}]',
    /^2226 .*not a URL of an endpoint for connections, such as tls:\/\/app\.internal/,
    TCP,
  ],
  [
    'a request that is forwarded to a tls endpoint',
    'on_http_request: [{actions: [{type: forward-internal, config: {url: "tls://a.internal"}}]}]',
    /^2226 .*not a URL of an endpoint for requests, such as https:\/\/app\.internal/,
  ],
  [
    'a tcp endpoint without a port',
    'on_tcp_connect: [{actions: [{type: forward-internal, config: {url: "tcp://a.internal"}}]}]',
    /^2226 .*needs a port/,
    TCP,
  ],
  ['a request on TCP', 'on_http_request: [{actions: [{type: deny}]}]', /^2230 .*use on_tcp_connect/, TCP],
  [
    'a connection on a route',
    'on_tcp_connect: [{actions: [{type: deny}]}]',
    /^2248/,
    { protocol: 'https', kind: 'route' },
  ],
  [
    'aliases that explode',
    `a: &a [x,x,x,x,x,x,x,x,x,x]\n${Array.from({ length: 9 }, (_, n) => `${'bcdefghij'[n]}: &${'bcdefghij'[n]} [${Array(10).fill(`*${'abcdefghi'[n]}`).join(',')}]`).join('\n')}`,
    /^2236/,
  ],
  [
    'more rules than allowed',
    JSON.stringify({ on_http_request: Array(501).fill({ actions: [{ type: 'deny' }] }) }),
    /^2264/,
  ],
  ['more text than allowed', `# ${'x'.repeat(300_000)}`, /^2236 .*256 KiB/],
  ['deep nesting', '['.repeat(100_000), /^2236/],
]

for (const [what, text, expected, attachment] of DOCUMENTS)
  test(`a policy with ${what} is refused`, () => {
    assert.match(mistakesOf(text, attachment).join('\n'), expected)
  })

const limit = { name: 'a', algorithm: 'sliding_window', capacity: 1, rate: '60s', bucket_key: ['req.host'] }

/** By action: configurations that are valid, and those that are not with the number of the mistake. */
const CONFIGS: Readonly<Record<string, { valid: readonly object[]; invalid: readonly [object, number][] }>> =
  {
    'custom-response': {
      valid: [{}, { status_code: 599, body: '${req.host}', headers: { 'x-a': '1' } }, { content: 'old' }],
      invalid: [
        [{ status_code: 100 }, 2215],
        [{ status_code: '200' }, 2204],
        [{ body: '${req.hots}' }, 2224],
        [{ body: '${req.host' }, 2224],
        [{ body: 'x'.repeat(140_000) }, 2221],
        [{ headers: { 'a b': '1' } }, 2208],
        [{ headers: { 'content-length': '1' } }, 2209],
        [{ headers: { a: 'x\ny' } }, 2210],
        [{ headers: Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`h${n}`, 'x'])) }, 2212],
        [{ headers: [] }, 2204],
        [{ bodi: 'x' }, 2203],
      ],
    },
    deny: { valid: [{}, { status_code: 404 }], invalid: [[{ status_code: 302 }, 2215]] },
    'close-connection': { valid: [{}], invalid: [[{ status_code: 400 }, 2203]] },
    'add-headers': {
      valid: [{ headers: { 'X-A': '${conn.client_ip}' } }, { headers: {} }],
      invalid: [
        [{}, 2234],
        [{ headers: { 'user-agent': 'x' } }, 2209],
        [{ headers: { 'Transfer-Encoding': 'x' } }, 2209],
      ],
    },
    'remove-headers': {
      valid: [{ headers: ['X-A'] }, { headers: [] }],
      invalid: [
        [{ headers: ['User-Agent'] }, 2209],
        [{ headers: ['a:b'] }, 2208],
        [{ headers: Array(11).fill('a') }, 2218],
      ],
    },
    'restrict-ips': {
      valid: [
        { allow: ['10.0.0.0/8', '::1'] },
        { deny: ['${conn.client_ip}/32'], enforce: false },
        { ip_policies: ['ipp_1'] },
      ],
      invalid: [
        [{}, 2223],
        [{ allow: ['10.0.0.1/8'] }, 2217],
        [{ deny: ['everyone'] }, 2217],
        [{ ip_policies: ['x'] }, 2216],
        [{ allow: ['::1'], enforce: 'yes' }, 2204],
      ],
    },
    'rate-limit': {
      valid: [limit, { ...limit, rate: 60_000_000_000, enforce: false }],
      invalid: [
        [{ ...limit, name: '' }, 2223],
        [{ ...limit, algorithm: 'token_bucket' }, 2222],
        [{ ...limit, capacity: 0 }, 2215],
        [{ ...limit, rate: '10s' }, 2225],
        [{ ...limit, rate: '65s' }, 2225],
        [{ ...limit, rate: 'soon' }, 2225],
        [{ ...limit, bucket_key: [] }, 2223],
        [{ ...limit, bucket_key: ['${req.host}'] }, 2200],
        [{ ...limit, bucket_key: Array(11).fill('req.host') }, 2218],
      ],
    },
    redirect: {
      valid: [
        { to: '/x' },
        { from: '(?i)/a/(?P<n>.*)', to: '/b/$1', status_code: 301, headers: { a: 'b' } },
        { from: '${req.host}', to: 'x' },
      ],
      invalid: [
        [{}, 2234],
        [{ to: '' }, 2223],
        [{ from: '(?=x)', to: 'y' }, 2261],
        [{ to: 'x', status_code: 200 }, 2215],
      ],
    },
    'url-rewrite': {
      valid: [{ from: '/a', to: '/b' }, { to: '/${req.method}' }],
      invalid: [
        [{ from: '(', to: 'x' }, 2261],
        [{ from: 'x' }, 2234],
      ],
    },
    'basic-auth': {
      valid: [
        { credentials: ['a:password'], realm: 'r', enforce: false },
        { credentials: ["${'a:password'}"] },
      ],
      invalid: [
        [{ credentials: [] }, 2223],
        [{ credentials: ['password'] }, 2257],
        [{ credentials: ['a:short'] }, 2237],
        [{ credentials: Array(11).fill('a:password') }, 2218],
        [{ credentials: ['a:password'], realm: 'ä' }, 2258],
        [{ credentials: ['a:password'], realm: 'x'.repeat(129) }, 2221],
      ],
    },
    'set-vars': {
      valid: [{ vars: [{ a: 1 }, { b: '${vars.a}' }, { c: { d: ['x'] } }] }],
      invalid: [
        [{ vars: [] }, 2223],
        [{ vars: ['a'] }, 2250],
        [{ vars: [{ a: 1, b: 2 }] }, 2250],
        [{ vars: [{ '1a': 1 }] }, 2250],
        [{ vars: [{ a: [[[[[1]]]]] }] }, 2252],
        [{ vars: [{ a: '${nope}' }] }, 2224],
      ],
    },
    'verify-webhook': {
      valid: [{ provider: 'github', secret: 'x' }, { provider: 'sns' }],
      invalid: [
        [{}, 2234],
        [{ provider: 'unknown' }, 2222],
        [{ provider: 'github', enforce: 1 }, 2204],
      ],
    },
    'circuit-breaker': {
      valid: [
        {},
        {
          error_threshold: 1,
          volume_threshold: 5,
          window_duration: '1s',
          tripped_duration: '2m',
          num_buckets: 10,
        },
      ],
      invalid: [
        [{ error_threshold: 2 }, 2215],
        [{ volume_threshold: 0 }, 2215],
        [{ window_duration: '3m' }, 2225],
        [{ tripped_duration: '1ms' }, 2225],
        [{ num_buckets: 5 }, 2215],
      ],
    },
    oauth: {
      valid: [
        {
          provider: 'google',
          client_id: 'a',
          client_secret: '${req.host}',
          scopes: ['x'],
          max_session_duration: '1h',
          idle_session_timeout: '5m',
          userinfo_refresh_interval: '1h',
          allow_cors_preflight: true,
        },
      ],
      invalid: [
        [{ provider: 'myspace', client_id: 'a', client_secret: 'b' }, 2222],
        [{ provider: 'google' }, 2234],
        [{ provider: 'google', client_id: '', client_secret: 'b' }, 2223],
        [{ provider: 'google', client_id: 'a', client_secret: 'b', max_session_duration: 'long' }, 2225],
      ],
    },
    'openid-connect': {
      valid: [
        { issuer_url: 'https://id.test', client_id: 'a', client_secret: 'b', idle_session_timeout: '5m' },
        { issuer_url: 'https://id.test', client_id: 'a' },
      ],
      invalid: [
        [{ issuer_url: 'id.test', client_id: 'a', client_secret: 'b' }, 2226],
        [{ client_id: 'a', client_secret: 'b' }, 2234],
        [
          {
            issuer_url: 'https://id.test',
            client_id: 'a',
            token_endpoint_auth_method: 'client_secret_basic',
          },
          2234,
        ],
      ],
    },
    log: {
      valid: [{ metadata: { a: '${req.host}', n: 1 } }],
      invalid: [
        [{}, 2234],
        [{ metadata: {} }, 2223],
        [{ metadata: 'x' }, 2204],
      ],
    },
  }

test('the algorithms of compress-response are checked', () => {
  const mistakes = (algorithms: unknown) =>
    mistakesIn('compress-response', { algorithms }, 'on_http_response').map((text) => text.slice(0, 4))

  assert.deepEqual(
    [mistakes(['gzip', 'br']), mistakes(['zip']), mistakes(['br', 'br']), mistakes([])],
    [[], ['2222'], ['2231'], ['2223']],
  )
})

test('one action of a policy signs visitors in', () => {
  const login = { client_id: 'a', client_secret: 'b' }
  const text = JSON.stringify({
    on_http_request: [
      { actions: [{ type: 'oauth', config: { provider: 'google', ...login } }] },
      { actions: [{ type: 'oidc', config: { issuer_url: 'https://id.test', ...login } }] },
    ],
  })

  assert.match(mistakesOf(text).join(), /^2239 on_http_request, rule 2, action 1/)
})

for (const [type, { valid, invalid }] of Object.entries(CONFIGS))
  test(`the configuration of ${type} is checked field by field`, () => {
    for (const config of valid) assert.deepEqual(mistakesIn(type, config), [], JSON.stringify(config))
    for (const [config, code] of invalid)
      assert.match(
        mistakesIn(type, config).join('\n'),
        new RegExp(`^${code} `),
        JSON.stringify(config).slice(0, 200),
      )
  })

test('terminate-tls applies to all connections, once, and not to tcp endpoints', () => {
  const action = { type: 'terminate-tls', config: {} }
  const connect = (...rules: object[]) => JSON.stringify({ on_tcp_connect: rules })
  const inConnect = (config: object) => mistakesIn('terminate-tls', config, 'on_tcp_connect')

  const mistakes = [
    mistakesOf(connect({ expressions: ['true'], actions: [action] })),
    mistakesOf(connect({ actions: [action] }, { actions: [action] })),
    mistakesOf(connect({ actions: [action] }), TCP),
    mistakesIn('terminate-tls', {}),
    inConnect({ server_certificate: "${secrets.get('a', 'b')}" }),
    inConnect({ min_version: '1.3', max_version: '1.2' }),
    inConnect({ mutual_tls_verification_strategy: 'require-and-verify' }),
  ]

  assert.deepEqual(
    mistakes.map((list) => list.map((text) => text.slice(0, 4))),
    [['2204'], ['2231'], ['2205'], ['2202'], ['2240'], ['2204'], ['2240']],
  )
})
