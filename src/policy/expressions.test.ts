import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Budget, compile, EvaluationError, type Meter } from '../cel/index.ts'
import type { Activation } from './activation.ts'
import { compileTemplate } from './template.ts'
import { toJson } from './value-text.ts'
import { environments } from './variables/index.ts'

const AGENT =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1'

/** The header fields of a message. */
function withHeaders(headers: ReadonlyMap<string, string[]>) {
  return {
    headers,
    header: (name: string) => headers.get(name) ?? [],
    once<M, T>(this: M, read: (message: M, meter: Meter) => T): T {
      return read(this, new Budget())
    },
  }
}

const activation: Activation = {
  budget: new Budget(Number.POSITIVE_INFINITY),
  conn: {
    ...{ remoteAddress: '10.1.2.3', remotePort: 5000, localAddress: '127.0.0.1', localPort: 443 },
    ...{ region: 'eu', startedAt: Date.parse('2026-01-02T03:04:05Z'), bytesIn: 120, bytesOut: 0 },
    ipFacts: () => undefined,
    tls: {
      ...{ sni: 'app.test', version: 'TLSv1.3', cipher: 'TLS_AES_128_GCM_SHA256', alpn: 'h2' },
      ja4: 't13d1516h2_8daaf6152771_e5627efa2ab1',
      clientCertificate: undefined,
      serverCertificate: undefined,
    },
  },
  endpoint: {
    id: 'ep_1',
    protocol: 'https',
    host: 'app.test',
    port: 443,
    addr: 'app.test:443',
    url: 'https://app.test',
  },
  req: {
    ...{ method: 'POST', scheme: 'https', host: 'app.test', authority: 'app.test:8443' },
    ...{
      target: '/a%20b/c?x=1&y=2&x=3',
      path: { escaped: '/a%20b/c', decoded: '/a b/c' },
      version: 'HTTP/2.0',
      contentLength: 12,
    },
    receivedAt: Date.parse('2026-01-02T03:04:06Z'),
    ...withHeaders(
      new Map([
        ['content-type', ['Application/JSON; charset="utf-8"']],
        ['cookie', ['a=1; b=2; a=3']],
        ['user-agent', [AGENT]],
        ['k', ['v', 'w']],
      ]),
    ),
  },
  res: {
    status: 301,
    contentLength: -1,
    ...withHeaders(
      new Map([
        ['location', ['/there']],
        ['set-cookie', ['s=1; Path=/', 's=2; Path=/deep; Secure; HttpOnly; SameSite=Lax; Max-Age=60; X=y']],
        ['content-encoding', ['gzip, br']],
      ]),
    ),
  },
  vars: new Map<string, never>([['n', 3 as never]]),
  retry: undefined,
  results: { rate_limit: { limited: true, bucket_key: ['a'] } },
  secret: (vault, name) => (vault === 'webhooks' && name === 'github' ? 's3cret' : undefined),
  now: () => Date.parse('2026-05-06T07:08:09Z'),
}

function evaluate(source: string): unknown {
  const compilation = compile(source, environments.on_http_response)
  if (!compilation.ok) throw new Error(`${source}: ${compilation.errors[0]!.message}`)
  return toJson(compilation.program.evaluate(activation), new Budget())
}

const VALUES: readonly [source: string, expected: unknown][] = [
  ['conn.client_ip', '10.1.2.3'],
  ["conn.client_ip in ['10.1.2.3']", true],
  ['has(conn.client_ip.geo)', false],
  ['has(conn.client_ip.categories)', false],
  ['conn.client_port + conn.server_port', 5443],
  ['conn.server_region', 'eu'],
  ["conn.ts.start == timestamp('2026-01-02T03:04:05Z')", true],
  ["conn.tls.version + ' ' + conn.tls.sni + ' ' + conn.tls.negotiated_alpn", '1.3 app.test h2'],
  ['has(conn.tls.client)', false],
  ["conn.tls.ja4_fingerprint.startsWith('t13d')", true],
  ['req.method', 'POST'],
  ['req.host', 'app.test'],
  ['req.version', 'HTTP/2.0'],
  ['req.url', 'https://app.test:8443/a%20b/c?x=1&y=2&x=3'],
  [
    '[req.url.scheme, req.url.authority, req.url.host, req.url.path]',
    ['https', 'app.test:8443', 'app.test', '/a b/c'],
  ],
  ['[req.url.raw_path, req.url.query, req.url.uri]', ['/a%20b/c', 'x=1&y=2&x=3', '/a%20b/c?x=1&y=2&x=3']],
  ['req.url.port', 8443],
  ['req.url.query_params', { x: ['1', '3'], y: ['2'] }],
  ["getQueryParam('x') + getQueryParam('none')", ['1', '3']],
  ["hasQueryParam('y') && !hasQueryParam('z')", true],
  ["req.headers.exists_one(x, x == 'k') && req.headers['k'].join(',') == 'v,w'", true],
  ["getReqHeader('K')", ['v', 'w']],
  ["hasReqHeader('none')", false],
  ['req.content_length', 12],
  ['req.content_type', 'application/json'],
  ["req.content_type.parameters['charset']", 'utf-8'],
  ["req.cookies['a'].map(c, c.value)", ['1', '3']],
  ["getReqCookie('a').value", '1'],
  ["hasReqCookie('c')", false],
  [
    '[req.user_agent.name, req.user_agent.version, req.user_agent.os, req.user_agent.os_version, req.user_agent.device]',
    ['Safari', '17.4', 'iOS', '17.4', 'iPhone'],
  ],
  [
    '[req.user_agent.is_mobile, req.user_agent.is_tablet, req.user_agent.is_desktop, req.user_agent.is_bot]',
    [true, false, false, false],
  ],
  ['res.status_code / 100', 3],
  ['has(res.content_length)', false],
  ['res.location', '/there'],
  ['res.content_encoding', ['gzip', 'br']],
  ["getResCookie('s').path", '/deep'],
  ["[res.cookies['s'][0].secure, res.cookies['s'][1].secure]", [true, false]],
  ["res.cookies['s'][0].max_age == duration('60s')", true],
  ["res.cookies['s'][0].unparsed_attributes", { X: 'y' }],
  ["getResHeader('Location')", ['/there']],
  ['endpoint.url + string(endpoint.port)', 'https://app.test443'],
  ['timestamp(time.now).getFullYear()', 2026],
  ["secrets.get('webhooks', 'git' + 'hub')", 's3cret'],
  ['int(vars.n) <= 3', true],
  ['has(vars.none)', false],
  ['actions.ngrok.rate_limit.limited', true],
  ['has(actions.ngrok.basic_auth)', false],
  ["'ÄB'.lower() + 'äb'.upper()", 'äbÄB'],
  ["'hello  mellow '.split()", ['hello', 'mellow']],
  ["'a'.encodeBase64().decodeBase64()", 'a'],
  ['\'{"a":[1,2.5]}\'.decodeJson().a[1]', 2.5],
  ["{'a': [1, true]}.encodeJson()", '{"a":[1,true]}'],
  ["json.decode(json.encode([1, 'x']))", [1, 'x']],
  ["'a=1&b=2&a=3'.decodeQueryString()", { a: ['1', '3'], b: ['2'] }],
  ["{'b': ['2', '3'], 'a': ['1 2']}.encodeQueryString()", 'a=1+2&b=2&b=3'],
  ["'a b&c'.escapeUrl()", 'a+b%26c'],
  ["'a+b%26c'.unescapeUrl()", 'a b&c'],
  ["'https://u:p@h.test:1/p?q=1'.parseUrl().user_password", 'u:p'],
  ["url.parse('https://h.test/p').host", 'h.test'],
  ["['{}'.isJson(), '{'.isJson()]", [true, false]],
  ["['a=1&b=2'.isQueryString(), 'a b'.isQueryString()]", [true, false]],
  ["['https://a.test'.isURL(), 'a'.isURL()]", [true, false]],
  ["['10.0.0.1'.isPrivateIp(), '8.8.8.8'.isPrivateIp(), 'x'.isPrivateIp()]", [true, false, false]],
  ["basic_auth.encode('a', 'b')", 'Basic YTpi'],
  ['rand.double() < 1.0', true],
  ['lists.range(50).all(i, rand.int(0, 11) <= 11) && rand.int() <= 1', true],
  ["inCidrRange(conn.client_ip, '10.0.0.0/8')", true],
  ["inCidrRange('10.0.0.1', 'nonsense')", false],
  ["inCidrRanges('10.0.0.1', ['nonsense', '10.0.0.0/8'])", true],
  ["hash.crc32('hello')", '3610a686'],
  ["hash.crc64('hello')", '3c3eeee2d8100000'],
  ["'hello'.xxhash64()", '26c7827d889f6da3'],
  ["hash.xxhash64('Nobody inspects the spammish repetition')", 'fbcea83c8a378bf1'],
  ["'hello'.md5()", '5d41402abc4b2a76b9719d911017c592'],
  ["hash.sha1('hello', 'base64')", 'qvTGHdzF6KLavt4PO0gs2a6pQ00='],
  ["'hello'.sha256().size() + 'hello'.sha512().size()", 192],
]

test('variables and functions have the values of the reference', () => {
  for (const [source, expected] of VALUES) assert.deepEqual(evaluate(source), expected, source)
})

test('functions reject what they cannot use', () => {
  for (const source of [
    "'{'.decodeJson()",
    "'!'.decodeBase64()",
    "'%zz'.unescapeUrl()",
    "'no url'.parseUrl().host",
    "'a'.sha1('octal')",
    'rand.int(2, 1)',
    "getReqCookie('none').value",
    'req.ts.body_received',
  ])
    assert.throws(() => evaluate(source), EvaluationError, source)
})

const TEMPLATES: readonly [source: string, expected: string][] = [
  ['plain', 'plain'],
  ['', ''],
  ['${req.method} ${req.url.path}', 'POST /a b/c'],
  ['${\'}\' + "{"}', '}{'],
  ["${{'a': 1}['a']}!", '1!'],
  ["${'\\'}'}", "'}"],
  ["${'''a'}'''}", "a'}"],
  ["${r'\\'}", '\\'],
  ['${[1, 2.5, true, "x"]}', '[1,2.5,true,"x"]'],
  ['${2.0}', '2'],
  ['${null}', ''],
  ["${duration('90s')} ${timestamp('2026-01-01T00:00:00Z')}", '90s 2026-01-01T00:00:00Z'],
  ["${b'abc'}", 'abc'],
  ['$1 and $', '$1 and $'],
]

test('templates put the values of expressions into texts', () => {
  for (const [source, expected] of TEMPLATES)
    assert.equal(
      compileTemplate(source, environments.on_http_request, 1000).evaluate(activation),
      expected,
      source,
    )
})

const BOTS: readonly [agent: string, name: string, version: string][] = [
  [
    'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; ChatGPT-User/1.0; +https://openai.com/bot',
    'ChatGPT-User',
    '1.0',
  ],
  ['Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)', 'bingbot', '2.0'],
  [
    'Mozilla/5.0 (compatible; Perplexity-User/1.0; +https://perplexity.ai/perplexity-user)',
    'Perplexity-User',
    '1.0',
  ],
  ['meta-externalagent/1.1 (+https://developers.facebook.com/docs)', 'meta-externalagent', '1.1'],
  ['Mozilla/5.0 (compatible; GoogleOther)', 'GoogleOther', ''],
]

test('programs that fetch for others are bots with a name, also in parentheses', () => {
  for (const [agent, name, version] of BOTS) {
    const headers = new Map([['user-agent', [agent]]])
    const run = compileTemplate(
      '${req.user_agent.name} ${req.user_agent.version} ${req.user_agent.is_bot}',
      environments.on_http_request,
      100,
    )
    const text = run.evaluate({ ...activation, req: { ...activation.req!, ...withHeaders(headers) } })
    assert.equal(text, `${name} ${version} true`)
  }
})

test('names of fields are also understood as older SDKs write them', () => {
  assert.deepEqual(evaluate('[req.Method, req.URL.path, conn.ClientIP]'), ['POST', '/a b/c', '10.1.2.3'])
  assert.equal(evaluate('req.Headers.size() == req.headers.size()'), true)
})
