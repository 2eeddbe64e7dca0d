import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { type TestContext, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import type { TestRequest, TestResponse } from '../../../test/support/https-client.ts'
import { echo } from '../testing/https-edge.ts'
import { HTTP_VERSIONS, startPolicyEndpoint } from '../testing/policy-endpoint.ts'

/** The request as the upstream received it. */
interface Received {
  readonly method: string
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: string
}

const received = ({ text }: TestResponse) => JSON.parse(text) as Received

interface Case {
  readonly name: string
  readonly policy: object
  /** Sent one after the other. */
  readonly requests?: readonly Partial<TestRequest>[]
  check(responses: readonly TestResponse[]): void
}

/** A policy with one action that always runs. */
const always = (phase: string, type: string, config: object = {}) => ({
  [phase]: [{ actions: [{ type, config }] }],
})

const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` })

const signed = (body: string) => ({
  'x-hub-signature-256': `sha256=${createHmac('sha256', 'key').update(body).digest('hex')}`,
})

/** Responds with the request as JSON, and with the status that the path asks for. */
const upstream: RequestListener = (request, response) => {
  response.statusCode = Number(/^\/(\d{3})$/.exec(request.url ?? '')?.[1] ?? 200)
  echo(request, response)
}

const statuses = (responses: readonly TestResponse[]) => responses.map(({ status }) => status)

const CASES: readonly Case[] = [
  {
    name: 'custom-response answers with its status, body and headers, and fills in variables',
    policy: always('on_http_request', 'custom-response', {
      status_code: 418,
      body: 'no ${req.method} of ${req.url.path}',
      headers: { 'X-From': '${endpoint.protocol}' },
    }),
    requests: [{ path: '/tea?x=1', method: 'PUT', body: 'leaves' }],
    check([response]) {
      assert.equal(response!.status, 418)
      assert.equal(response!.text, 'no PUT of /tea')
      assert.equal(response!.headers['x-from'], 'https')
      assert.equal(response!.headers['content-type'], 'text/plain; charset=utf-8')
    },
  },
  {
    name: 'custom-response reads the older name of its body and guesses the content type',
    policy: {
      on_http_request: [
        {
          expressions: ["req.url.path == '/page'"],
          actions: [{ type: 'custom-response', config: { content: '<!DOCTYPE html><p>hi</p>' } }],
        },
        { actions: [{ type: 'custom-response', config: { body: '{"a": [1]}' } }] },
      ],
    },
    requests: [{ path: '/page' }, {}],
    check([page, json]) {
      assert.equal(page!.headers['content-type'], 'text/html; charset=utf-8')
      assert.equal(json!.headers['content-type'], 'application/json')
    },
  },
  {
    name: 'custom-response in the response phase replaces what the upstream sent',
    policy: {
      on_http_response: [
        {
          expressions: ['res.status_code == 200', "req.url.path == '/hidden'"],
          actions: [
            {
              type: 'custom-response',
              config: { status_code: 404, body: 'gone', headers: { 'x-new': '1' } },
            },
          ],
        },
      ],
    },
    requests: [{ path: '/hidden' }, { path: '/hidden', method: 'HEAD' }, { path: '/shown' }],
    check([hidden, head, shown]) {
      assert.deepEqual([hidden!.status, hidden!.text, hidden!.headers['x-new']], [404, 'gone', '1'])
      assert.equal(hidden!.headers['content-length'], '4')
      assert.deepEqual([head!.status, head!.text], [404, ''])
      assert.equal(received(shown!).url, '/shown')
    },
  },
  {
    name: 'a request that custom-response ended still passes the response phase',
    policy: {
      ...always('on_http_request', 'custom-response', { body: 'x' }),
      ...always('on_http_response', 'add-headers', { headers: { 'x-after': '${string(res.status_code)}' } }),
    },
    check([response]) {
      assert.deepEqual([response!.text, response!.headers['x-after']], ['x', '200'])
    },
  },
  {
    name: 'deny refuses with an empty body and its status',
    policy: {
      on_http_request: [
        {
          expressions: ["req.headers['user-agent'][0].contains('bot')"],
          actions: [{ type: 'deny', config: { status_code: 404 } }],
        },
        { expressions: ["hasQueryParam('no')"], actions: [{ type: 'deny' }] },
      ],
    },
    requests: [
      { headers: { 'user-agent': 'a bot' } },
      { path: '/?no=1' },
      { headers: { 'user-agent': 'curl' } },
    ],
    check(responses) {
      assert.deepEqual(statuses(responses), [404, 403, 200])
      assert.equal(responses[0]!.text, '')
    },
  },
  {
    name: 'close-connection ends the connection without a response',
    policy: always('on_http_request', 'close-connection'),
    check([response]) {
      assert.equal(response!.status, 0)
    },
  },
  {
    name: 'on_tcp_connect closes connections before their first request is answered',
    policy: {
      on_tcp_connect: [{ expressions: ["conn.client_ip.startsWith('127.')"], actions: [{ type: 'deny' }] }],
    },
    check([response]) {
      assert.equal(response!.status, 0)
    },
  },
  {
    name: 'add-headers adds to those of the request and replaces the host',
    policy: always('on_http_request', 'add-headers', {
      headers: { 'X-Tag': '${conn.client_ip}', 'x-own': 'ä', Host: 'inside.test' },
    }),
    requests: [{ headers: { 'x-tag': 'mine' } }],
    check([response]) {
      const { headers } = received(response!)
      assert.equal(headers['x-tag'], 'mine, 127.0.0.1')
      assert.equal(Buffer.from(headers['x-own']!, 'latin1').toString(), 'ä')
      assert.equal(headers.host, 'inside.test')
    },
  },
  {
    name: 'later rules see the headers that earlier ones added and removed',
    policy: {
      on_http_request: [
        { actions: [{ type: 'remove-headers', config: { headers: ['X-Secret'] } }] },
        { actions: [{ type: 'add-headers', config: { headers: { 'x-step': 'one' } } }] },
        {
          expressions: ["!hasReqHeader('x-secret') && getReqHeader('X-Step') == ['one']"],
          actions: [
            {
              type: 'add-headers',
              config: { headers: { 'x-found': '${actions.ngrok.remove_headers.headers_removed}' } },
            },
          ],
        },
      ],
    },
    requests: [{ headers: { 'x-secret': 's' } }],
    check([response]) {
      const { headers } = received(response!)
      assert.equal(headers['x-secret'], undefined)
      assert.equal(headers['x-found'], '["x-secret"]')
    },
  },
  {
    name: 'headers of responses are added and removed',
    policy: {
      on_http_response: [
        {
          actions: [
            { type: 'remove-headers', config: { headers: ['content-type'] } },
            { type: 'add-headers', config: { headers: { 'x-length': '${res.content_length}' } } },
          ],
        },
      ],
    },
    check([response]) {
      assert.equal(response!.headers['content-type'], undefined)
      assert.equal(response!.headers['x-length'], String(response!.body.length))
    },
  },
  {
    name: 'restrict-ips admits who is allowed and not denied',
    policy: {
      on_http_request: [
        {
          expressions: ["req.url.path == '/deny'"],
          actions: [{ type: 'restrict-ips', config: { deny: ['127.0.0.0/8'] } }],
        },
        {
          expressions: ["req.url.path == '/elsewhere'"],
          actions: [{ type: 'restrict-ips', config: { allow: ['10.0.0.0/8'] } }],
        },
        {
          expressions: ["req.url.path == '/both'"],
          actions: [{ type: 'restrict-ips', config: { allow: ['127.0.0.0/8'], deny: ['127.0.0.1/32'] } }],
        },
        {
          expressions: ["req.url.path == '/dynamic'"],
          actions: [{ type: 'restrict-ips', config: { allow: ['${conn.client_ip}/32'] } }],
        },
        {
          expressions: ["req.url.path == '/observe'"],
          actions: [
            { type: 'restrict-ips', config: { enforce: false, deny: ['10.0.0.0/8', '127.0.0.0/8'] } },
            {
              type: 'custom-response',
              config: {
                body: '${actions.ngrok.restrict_ips.action} ${actions.ngrok.restrict_ips.matched_cidr} ${actions.ngrok.restrict_ips.error.code}',
              },
            },
          ],
        },
      ],
    },
    requests: ['/deny', '/elsewhere', '/both', '/dynamic', '/other', '/observe'].map((path) => ({ path })),
    check(responses) {
      assert.deepEqual(statuses(responses), [403, 403, 403, 200, 200, 200])
      assert.match(responses[0]!.text, /ERR_ADIT_3203/)
      assert.equal(responses[5]!.text, 'deny 127.0.0.0/8 ERR_ADIT_3203')
    },
  },
  {
    name: 'restrict-ips in the response phase replaces the response',
    policy: always('on_http_response', 'restrict-ips', { deny: ['127.0.0.0/8'] }),
    check([response]) {
      assert.equal(response!.status, 403)
      assert.match(response!.text, /ERR_ADIT_3203/)
    },
  },
  {
    name: 'rate-limit counts by key and tells when to come back',
    policy: always('on_http_request', 'rate-limit', {
      name: 'limit',
      algorithm: 'sliding_window',
      capacity: 2,
      rate: '24h',
      bucket_key: ["getReqHeader('x-key').join()", 'conn.client_ip'],
    }),
    requests: ['a', 'a', 'a', 'b'].map((key) => ({ headers: { 'x-key': key } })),
    check(responses) {
      assert.deepEqual(statuses(responses), [200, 200, 429, 200])
      assert.ok(Number(responses[2]!.headers['retry-after']) > 1)
    },
  },
  {
    name: 'rate-limit that is not enforced only sets its results',
    policy: {
      on_http_request: [
        {
          actions: [
            {
              type: 'rate-limit',
              config: {
                name: 'watch',
                algorithm: 'sliding_window',
                capacity: 1,
                // As Go writes durations.
                rate: 86_400_000_000_000,
                bucket_key: ['req.host'],
                enforce: false,
              },
            },
            { type: 'custom-response', config: { body: '${actions.ngrok.rate_limit.limited}' } },
          ],
        },
      ],
    },
    requests: [{}, {}],
    check(responses) {
      assert.deepEqual(
        responses.map(({ text }) => text),
        ['false', 'true'],
      )
    },
  },
  {
    name: 'redirect replaces parts of the URL or all of it, and does nothing when it stays the same',
    policy: {
      on_http_request: [
        {
          expressions: ["req.url.path.startsWith('/old/')"],
          actions: [
            {
              type: 'redirect',
              config: { from: '/old/(\\w+)', to: '/new/$1', status_code: 308, headers: { 'x-moved': 'yes' } },
            },
          ],
        },
        {
          expressions: ["req.url.path == '/all'"],
          actions: [{ type: 'redirect', config: { to: 'https://example.com/${req.method}' } }],
        },
        { actions: [{ type: 'redirect', config: { from: 'nowhere', to: 'x' } }] },
      ],
    },
    requests: [{ path: '/old/page?q=1' }, { path: '/all' }, { path: '/stay' }],
    check([moved, all, stay]) {
      assert.deepEqual(
        [moved!.status, moved!.headers.location, moved!.headers['x-moved']],
        [308, 'https://app.adit.localhost/new/page?q=1', 'yes'],
      )
      assert.deepEqual([all!.status, all!.headers.location], [302, 'https://example.com/GET'])
      assert.equal(stay!.status, 200)
    },
  },
  {
    name: 'url-rewrite changes what the upstream gets',
    policy: {
      on_http_request: [
        {
          actions: [
            { type: 'url-rewrite', config: { from: '/api/v(?P<n>\\d)/', to: '/v${"$"}{n}/' } },
            {
              type: 'add-headers',
              config: {
                headers: { 'x-url': '${actions.ngrok.url_rewrite.url}', 'x-path': '${req.url.path}' },
              },
            },
          ],
        },
      ],
    },
    requests: [{ path: '/api/v2/users?id=1' }, { path: '/other' }],
    check([rewritten, other]) {
      const { url, headers } = received(rewritten!)
      assert.equal(url, '/v2/users?id=1')
      assert.equal(headers['x-url'], 'https://app.adit.localhost/v2/users?id=1')
      assert.equal(headers['x-path'], '/v2/users')
      assert.equal(received(other!).url, '/other')
    },
  },
  {
    name: 'basic-auth requires a credential',
    policy: always('on_http_request', 'basic-auth', {
      credentials: ['ann:password-1', '${"bob"}:${"pass" + "word-2"}'],
      realm: 'the shop',
    }),
    requests: [
      {},
      { headers: basic('ann:password-1') },
      { headers: basic('bob:password-2') },
      { headers: basic('ann:wrong') },
    ],
    check(responses) {
      assert.deepEqual(statuses(responses), [401, 200, 200, 401])
      assert.match(String(responses[0]!.headers['www-authenticate']), /realm="the shop"/)
    },
  },
  {
    name: 'basic-auth that is not enforced tells who came',
    policy: {
      on_http_request: [
        { actions: [{ type: 'basic-auth', config: { credentials: ['ann:password-1'], enforce: false } }] },
        {
          expressions: ['actions.ngrok.basic_auth.credentials.authorized'],
          actions: [
            {
              type: 'custom-response',
              config: { body: 'hello ${actions.ngrok.basic_auth.credentials.username}' },
            },
          ],
        },
        {
          actions: [
            {
              type: 'custom-response',
              config: { body: '${actions.ngrok.basic_auth.credentials.presented}' },
            },
          ],
        },
      ],
    },
    requests: [{}, { headers: basic('ann:password-1') }],
    check([anonymous, ann]) {
      assert.deepEqual([anonymous!.text, ann!.text], ['false', 'hello ann'])
    },
  },
  {
    name: 'set-vars sets variables for the rest of its phase',
    policy: {
      on_http_request: [
        {
          actions: [
            {
              type: 'set-vars',
              config: {
                vars: [
                  { n: '${size(req.url.path)}' },
                  { twice: '${vars.n * 2}' },
                  { text: 'n is ${vars.n}' },
                  { deep: { list: [1, '${vars.n}', true], none: null } },
                ],
              },
            },
          ],
        },
        {
          expressions: ['vars.twice == 6', 'vars.deep.list == [1, 3, true]'],
          actions: [{ type: 'custom-response', config: { body: '${vars.text} ${vars.deep}' } }],
        },
      ],
      on_http_response: [
        {
          expressions: ['!has(vars.n)'],
          actions: [{ type: 'add-headers', config: { headers: { 'x-vars': 'gone' } } }],
        },
      ],
    },
    requests: [{ path: '/ab' }],
    check([response]) {
      assert.equal(response!.text, 'n is 3 {"list":[1,3,true],"none":null}')
      assert.equal(response!.headers['x-vars'], 'gone')
    },
  },
  {
    name: 'verify-webhook admits signed webhooks only',
    policy: {
      on_http_request: [
        {
          expressions: ["req.url.path == '/watch'"],
          actions: [
            { type: 'verify-webhook', config: { provider: 'github', secret: 'key', enforce: false } },
            { type: 'custom-response', config: { body: '${actions.ngrok.verify_webhook.verified}' } },
          ],
        },
        { actions: [{ type: 'verify-webhook', config: { provider: 'github', secret: "${'k' + 'ey'}" } }] },
      ],
      // Not for responses of guards.
      ...always('on_http_response', 'add-headers', { headers: { 'x-after': '1' } }),
    },
    requests: [
      { method: 'POST', body: 'x', headers: signed('x') },
      { method: 'POST', body: 'y', headers: signed('x') },
      { method: 'POST', body: 'x', headers: signed('x'), path: '/watch' },
      { method: 'POST', body: 'y', headers: signed('x'), path: '/watch' },
    ],
    check(responses) {
      assert.deepEqual(statuses(responses), [200, 403, 200, 200])
      assert.equal(received(responses[0]!).body, 'x')
      assert.equal(responses[1]!.headers['x-after'], undefined)
      assert.deepEqual([responses[2]!.text, responses[3]!.text], ['true', 'false'])
    },
  },
  {
    name: 'circuit-breaker opens after errors of the upstream',
    policy: always('on_http_request', 'circuit-breaker', {
      error_threshold: 0.5,
      volume_threshold: 2,
      window_duration: '2m',
      tripped_duration: 120_000_000_000,
    }),
    requests: [{ path: '/500' }, { path: '/500' }, {}],
    check(responses) {
      assert.deepEqual(statuses(responses), [500, 500, 503])
      assert.match(responses[2]!.text, /ERR_ADIT_3202/)
    },
  },
  {
    name: 'circuit-breaker that is not enforced lets everything through',
    policy: always('on_http_request', 'circuit-breaker', { volume_threshold: 1, enforce: false }),
    requests: [{ path: '/500' }, { path: '/500' }, {}],
    check(responses) {
      assert.deepEqual(statuses(responses), [500, 500, 200])
    },
  },
  {
    name: 'compress-response uses what both sides can',
    policy: {
      on_http_response: [
        {
          actions: [
            { type: 'compress-response', config: { algorithms: ['gzip', 'compress'] } },
            {
              type: 'add-headers',
              config: {
                headers: { 'x-coding': '${actions.ngrok.compress.?negotiated_algorithm.orValue("-")}' },
              },
            },
          ],
        },
      ],
    },
    requests: [
      { path: `/${'a'.repeat(500)}`, headers: { 'accept-encoding': 'br, gzip' } },
      { path: `/${'a'.repeat(500)}`, headers: { 'accept-encoding': 'br' } },
    ],
    check([compressed, plain]) {
      assert.deepEqual(
        [compressed!.headers['content-encoding'], compressed!.headers['x-coding']],
        ['gzip', 'gzip'],
      )
      assert.equal(JSON.parse(gunzipSync(compressed!.body).toString()).method, 'GET')
      assert.deepEqual([plain!.headers['content-encoding'], plain!.headers['x-coding']], [undefined, '-'])
      assert.equal(plain!.headers.vary, 'Accept-Encoding')
    },
  },
  {
    name: 'conn.tls tells the fingerprint of the client and the certificate that it was shown',
    policy: always('on_http_request', 'custom-response', {
      body: '${conn.tls.ja4_fingerprint} ${conn.tls.server.san.dns_names}',
    }),
    requests: [{}, { tls: { maxVersion: 'TLSv1.2' } }],
    check([newer, older]) {
      assert.match(newer!.text, /^t13d\d{4}(h1|h2|00)_[0-9a-f]{12}_[0-9a-f]{12} \["app\.adit\.localhost"\]$/)
      assert.match(older!.text, /^t12d\d{4}/)
    },
  },
  {
    name: 'log goes on with the request and shows what it recorded',
    policy: {
      on_http_request: [
        {
          actions: [
            { type: 'log', config: { metadata: { path: '${req.url.path}' } } },
            { type: 'custom-response', config: { body: '${actions.ngrok.log.metadata.path}' } },
          ],
        },
      ],
    },
    requests: [{ path: '/here' }],
    check([response]) {
      assert.equal(response!.text, '/here')
    },
  },
]

for (const { name, policy, requests = [{}], check } of CASES)
  for (const version of HTTP_VERSIONS)
    test(`${name} (${version})`, async (t: TestContext) => {
      const { ask } = await startPolicyEndpoint(t, JSON.stringify(policy), { listener: upstream })

      const responses: TestResponse[] = []
      for (const request of requests) responses.push(await ask(request, version))

      check(responses)
    })
