import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import type { TestResponse } from '../../../test/support/https-client.ts'
import { NO_IP_DATA } from '../../policy/index.ts'
import { TestObserver } from '../testing/observer.ts'
import { HTTP_VERSIONS, startPolicyEndpoint } from '../testing/policy-endpoint.ts'

const action = (type: string, config: object = {}) => ({ type, config })

/** Reads a header that the requests of these tests lack. */
const FAILS = "req.headers['authorization'][0] == 'Bearer key'"

const start = (t: TestContext, rules: object, dependencies = {}) =>
  startPolicyEndpoint(t, JSON.stringify(rules), { dependencies: { ipData: NO_IP_DATA, ...dependencies } })

const codeOf = ({ status, headers }: TestResponse) => [status, headers['adit-error-code']]

const limit = { name: 'a', algorithm: 'sliding_window', capacity: 9, rate: '60s', bucket_key: ['req.host'] }

const REJECTING = {
  deny: {},
  'custom-response': { status_code: 404 },
  'restrict-ips': { allow: ['127.0.0.0/8'] },
  'rate-limit': limit,
  'basic-auth': { credentials: ['ann:a long password'] },
  'verify-webhook': { provider: 'github', secret: 'key' },
}

for (const [type, config] of Object.entries(REJECTING))
  test(`an expression that fails before ${type} rejects the request`, async (t) => {
    const { ask } = await start(t, {
      on_http_request: [
        { expressions: [FAILS], actions: [action('log', { metadata: { a: 'b' } }), action(type, config)] },
      ],
    })

    for (const version of HTTP_VERSIONS)
      assert.deepEqual(codeOf(await ask({}, version)), [403, 'ERR_ADIT_2302'], version)
    const given = await ask({ headers: { authorization: 'Bearer other' } })
    assert.equal(given.status, 200)
  })

const PASSING = {
  'custom-response': { status_code: 200 },
  'add-headers': { headers: { a: 'b' } },
  'restrict-ips': { allow: ['10.0.0.0/8'], enforce: false },
  'rate-limit': { ...limit, enforce: false },
}

for (const [type, config] of Object.entries(PASSING))
  test(`an expression that fails before ${type} that rejects nothing leaves the rule out`, async (t) => {
    const { ask } = await start(t, {
      on_http_request: [{ expressions: [FAILS], actions: [action(type, config)] }],
    })

    const { status, text } = await ask()

    assert.deepEqual([status, text === ''], [200, false])
  })

test('close-connection whose expression fails closes the connection with the page of a rejection', async (t) => {
  const { ask } = await start(t, {
    on_http_request: [{ expressions: [FAILS], actions: [action('close-connection')] }],
  })

  assert.deepEqual(codeOf(await ask()), [403, 'ERR_ADIT_2302'])
})

test('a connection is closed when an expression before deny fails', async (t) => {
  const { ask } = await start(t, {
    on_tcp_connect: [
      { expressions: ["conn.tls.client.subject.common_name != 'a'"], actions: [action('deny')] },
    ],
  })

  assert.notEqual((await ask()).error, '')
})

test('a response is replaced when an expression before a rejection fails', async (t) => {
  const { ask } = await start(t, {
    on_http_response: [
      {
        expressions: ["res.headers['x-none'][0] == 'a'"],
        actions: [action('custom-response', { status_code: 502 })],
      },
    ],
  })

  assert.deepEqual(codeOf(await ask()), [403, 'ERR_ADIT_2302'])
})

test('another expression that is false decides, wherever it stands', async (t) => {
  const { ask } = await start(t, {
    on_http_request: [
      { expressions: [FAILS, "req.url.path == '/admin'"], actions: [action('deny')] },
      { expressions: ["req.url.path == '/admin'", FAILS], actions: [action('deny')] },
    ],
  })

  assert.deepEqual([(await ask()).status, (await ask({ path: '/admin' })).status], [200, 403])
})

test('a condition that is neither true nor false rejects before deny', async (t) => {
  const { ask } = await start(t, {
    on_http_request: [
      { actions: [action('set-vars', { vars: [{ blocked: 'yes' }] })] },
      { expressions: ['vars.blocked'], actions: [action('deny')] },
    ],
  })

  assert.deepEqual(codeOf(await ask()), [403, 'ERR_ADIT_2302'])
})

test('the page, the log and the event name the rule, its action and the reason, but no value', async (t) => {
  const lines: string[] = []
  const log = pino({}, { write: (line: string) => void lines.push(line) })
  const observe = new TestObserver('ac_test')
  const { ask } = await start(
    t,
    {
      on_http_request: [
        { name: 'old', expressions: ["int(req.headers['x-version'][0]) < 2"], actions: [action('deny')] },
      ],
    },
    { log, observe },
  )

  const missing = await ask()
  const wrong = await ask({ headers: { 'x-version': 'secret' } })

  assert.match(
    missing.text,
    /on_http_request, rule 1 (?:"|&quot;)old(?:"|&quot;) \(deny\): no such key: x-version/,
  )
  assert.match(wrong.text, /\(deny\): a text is not an? int/)
  assert.ok(!wrong.text.includes('secret'))
  assert.ok(lines.some((line) => line.includes('is not an int') && line.includes('secret')))
  const [{ logs = [] } = {}] = observe.requests
  assert.match(logs[0]?.policy_failure ?? '', /rule 1 "old" \(deny\): no such key: x-version/)
})

test('facts about addresses are empty without data, so that rules decide', async (t) => {
  const { ask } = await start(t, {
    on_http_request: [
      {
        expressions: ["!('com.github' in conn.client_ip.categories)", "req.url.path == '/hook'"],
        actions: [action('deny')],
      },
      { expressions: ["conn.geo.country_code == 'DE'"], actions: [action('deny')] },
      {
        expressions: ['conn.client_ip.is_on_blocklist || conn.client_ip.is_tor_node'],
        actions: [action('deny')],
      },
      {
        expressions: ['conn.client_ip.as.number == 13335 || conn.client_ip.geo.location.is_eu'],
        actions: [action('deny')],
      },
      { expressions: ['has(conn.client_ip.geo)'], actions: [action('deny')] },
      {
        actions: [
          action('custom-response', {
            body: '[${conn.geo.city}${conn.client_ip.geo.registered_location.country}${conn.client_ip.as.organization}]${conn.client_ip.categories}',
          }),
        ],
      },
    ],
  })

  assert.equal((await ask({ path: '/hook' })).status, 403)
  assert.equal((await ask()).text, '[][]')
})

test('absent facts and results are empty in texts, and a missing header still fails', async (t) => {
  const { ask } = await start(t, {
    on_http_request: [
      { actions: [action('restrict-ips', { deny: ['10.0.0.0/8'] })] },
      {
        expressions: [
          "actions.ngrok.restrict_ips.error.code == '' && actions.ngrok.restrict_ips.matched_cidr == ''",
        ],
        actions: [
          action('add-headers', { headers: { 'x-rule': 'a${actions.ngrok.restrict_ips.matched_cidr}b' } }),
        ],
      },
      {
        expressions: ["req.url.path == '/header'"],
        actions: [action('custom-response', { body: "${req.headers['x-none'][0]}" })],
      },
      { actions: [action('set-vars', { vars: [{ name: '${conn.tls.client.subject.common_name}' }] })] },
      {
        actions: [
          action('custom-response', {
            body: "${getReqHeader('x-rule')[0]} ${req.content_length} ${vars.name}${actions.ngrok.rate_limit.limited}|",
          }),
        ],
      },
    ],
  })

  assert.equal((await ask()).text, 'ab  |')
  assert.equal((await ask({ path: '/header' })).status, 500)
})

test('a credential or secret that turns out empty admits nobody', async (t) => {
  const { ask } = await start(t, {
    on_http_request: [
      { actions: [action('set-vars', { vars: [{ none: '${conn.tls.client.subject.common_name}' }] })] },
      {
        expressions: ["req.url.path == '/hook'"],
        actions: [action('verify-webhook', { provider: 'github', secret: '${vars.none}' })],
      },
      { actions: [action('basic-auth', { credentials: ['ann:${vars.none}'] })] },
    ],
  })
  const authorization = `Basic ${Buffer.from('ann:').toString('base64')}`

  const answers = [await ask({ path: '/hook' }), await ask({ headers: { authorization } })]

  assert.deepEqual(answers.map(codeOf), Array(2).fill([500, 'ERR_ADIT_2300']))
})

test('on_error: continue covers what the texts of http-request and forward-internal cannot say', async (t) => {
  const url = "https://a.example/${req.headers['x-none'][0]}"
  const { ask } = await start(
    t,
    {
      on_http_request: [
        { actions: [action('http-request', { url, on_error: 'continue' })] },
        {
          actions: [
            action('forward-internal', {
              url: "https://${req.headers['x-none'][0]}.internal",
              on_error: 'continue',
            }),
          ],
        },
        {
          actions: [
            action('custom-response', {
              body: '${actions.ngrok.http_request.error.message} ${has(actions.ngrok.http_request.res)} ${actions.ngrok.forward_internal.error.code}',
            }),
          ],
        },
      ],
    },
    { policyOutbound: { fetch: () => Promise.reject(new Error('nothing may be called')) } },
  )

  const { text } = await ask()

  assert.match(text, /no such key: x-none.* false ERR_ADIT_/)
})

test('names of headers are found in any case', async (t) => {
  const { ask } = await start(t, {
    on_http_request: [
      {
        expressions: [
          "'X-Key' in req.headers && req.headers['X-Key'][0] == 'a' && has(req.headers.Authorization)",
          "['X-Key', 'AUTHORIZATION'].all(name, name in req.headers && size(req.headers[name]) == 1)",
        ],
        actions: [action('deny')],
      },
    ],
    on_http_response: [
      {
        expressions: ["'Content-Type' in res.headers"],
        actions: [action('add-headers', { headers: { found: 'yes' } })],
      },
    ],
  })

  const both = await ask({ headers: { 'x-key': 'a', authorization: 'b' } })
  const neither = await ask()

  assert.deepEqual([both.status, neither.status, neither.headers.found], [403, 200, 'yes'])
})
