import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import type { FlagValues } from '../../command-line/index.ts'
import { ConfigError } from '../config/error.ts'
import { requireSpecs, resolveDefinitions } from './check.ts'
import { createContext } from './context.ts'

function check(sources: string[], flags: FlagValues = {}, env: Record<string, string> = {}) {
  const directory = createTempDir()
  const config = sources.map((source, index) => {
    const path = join(directory, `${index}.yml`)
    writeFileSync(path, source, { mode: 0o600 })
    return path
  })
  return requireSpecs(resolveDefinitions(createContext({ config, ...flags }, env)))
}

function messagesOf(...args: Parameters<typeof check>): string[] {
  try {
    check(...args)
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error))
    return error.messages.map((message) => message.replace(/^.*\/(?=\d\.yml)/, ''))
  }
  assert.fail('everything was accepted')
}

test('a definition with an invalid value prevents only its own start', () => {
  const directory = createTempDir()
  const file = join(directory, 'adit.yml')
  writeFileSync(
    file,
    `version: 3
tunnels:
  good: {proto: http, addr: 80}
  word: 80
  key: {proto: http, addr: 80, subdomian: x}
  value: {proto: http, addr: ftp://x}
endpoints:
  - {name: fine, upstream: {url: 81}}
  - {name: bad, upstream: {url: 81, protocol: http9}}
`,
    { mode: 0o600 },
  )

  const definitions = resolveDefinitions(createContext({ config: file }, {}))
  const usable = [...definitions].filter(([, each]) => 'spec' in each).map(([name]) => name)
  const problems = [...definitions.values()].flatMap((each) => ('problems' in each ? each.problems : []))

  assert.deepEqual(usable, ['good', 'fine'])
  assert.deepEqual(
    problems.map((message) => message.replace(`${file} `, '')),
    [
      'line 5: unknown key "subdomian"; did you mean "subdomain"?',
      'line 6: addr of the tunnel "value": the scheme ftp:// is not supported; use http, https, tcp, tls, unix or file',
      'line 4: tunnels.word must be a map, not the number 80',
      'line 9: endpoints[1].upstream.protocol must be one of http1, http2, empty, not "http9"',
    ],
  )
})

const INVALID: [title: string, source: string, message: RegExp][] = [
  [
    'an unknown protocol',
    'version: 2\ntunnels:\n  web:\n    addr: 80\n    proto: htp\n',
    /^0\.yml line 5: proto of the tunnel "web": Invalid protocol name 'htp'/,
  ],
  [
    'an invalid upstream address',
    'version: 2\ntunnels:\n  web:\n    proto: http\n    addr: ftp://x\n',
    /^0\.yml line 5: addr of the tunnel "web": the scheme ftp:\/\/ is not supported/,
  ],
  [
    'a tunnel without an address',
    'version: 2\ntunnels:\n  web:\n    proto: http\n',
    /^0\.yml line 3: addr of the tunnel "web": "addr" is required/,
  ],
  [
    'a key that does not apply',
    'version: 2\ntunnels:\n  ssh:\n    proto: tcp\n    addr: 22\n    subdomain: x\n',
    /^0\.yml line 6: subdomain of the tunnel "ssh": "subdomain" does not apply/,
  ],
  [
    'a file that is not there',
    'version: 2\ntunnels:\n  t: {proto: tls, addr: 1,\n    crt: /none, key: /none}\n',
    /^0\.yml line 4: crt of the tunnel "t": cannot read the file \/none/,
  ],
  [
    'an endpoint without a name',
    'version: 3\nendpoints:\n  - upstream: {url: 80}\n',
    /^0\.yml line 3: name of endpoint number 1: "name" is required/,
  ],
  [
    'an endpoint without an upstream',
    'version: 3\nendpoints:\n  - name: a\n    url: https://a.test\n',
    /^0\.yml line 3: upstream\.url of the endpoint "a": "upstream\.url" is required/,
  ],
  [
    'an endpoint with a path',
    'version: 3\nendpoints:\n  - name: a\n    upstream: {url: 80}\n    url: https://a.test/x\n',
    /^0\.yml line 5: url of the endpoint "a": the url .* must not have a path/,
  ],
  [
    'an endpoint with a bad upstream',
    'version: 3\nendpoints:\n  - name: a\n    upstream:\n      url: 80.5\n',
    /^0\.yml line 5: upstream\.url of the endpoint "a": "80\.5" does not name a host/,
  ],
  [
    'a duplicate name',
    'version: 3\nendpoints:\n  - name: a\n    upstream: {url: 80}\n  - name: a\n    upstream: {url: 81}\n',
    /^0\.yml line 5: name of the endpoint "a": "name" must be unique/,
  ],
  [
    'a name of a tunnel and an endpoint',
    'version: 3\nendpoints:\n  - name: a\n    upstream: {url: 80}\ntunnels:\n  a: {proto: tcp, addr: 1}\n',
    /^0\.yml line 3: name of the endpoint "a": "name" must be unique/,
  ],
  ['web_addr', 'version: 2\nweb_addr: a:b:c\n', /^0\.yml line 2: web_addr: .* must be host:port, or false/],
  [
    'connect_url',
    'version: 3\nagent:\n  connect_url: a b\n',
    /^0\.yml line 3: connect_url: .* use host:port/,
  ],
  ['server_addr', 'version: 2\n\nserver_addr: a b\n', /^0\.yml line 3: connect_url: .* use host:port/],
  ['proxy_url', 'version: 2\nproxy_url: ftp://x\n', /^0\.yml line 2: proxy_url: proxy_url must be http/],
  ['a broken escape', 'version: 2\nproxy_url: "http://a%zz@b:1"\n', /^0\.yml line 2: proxy_url: /],
  [
    'dns_resolver_ips',
    'version: 2\ndns_resolver_ips: [1.1.1.1, one.one]\n',
    /^0\.yml line 2: dns_resolver_ips: "one\.one" is not the address of a name server/,
  ],
  [
    'web_allow_hosts',
    'version: 2\nweb_allow_hosts: [10.0.0.0/8, 10.0.0.0/33]\n',
    /^0\.yml line 2: web_allow_hosts: "10\.0\.0\.0\/33" is not an address range/,
  ],
  [
    'connect_cas',
    'version: 2\nroot_cas: /none\n',
    /^0\.yml line 2: connect_cas: cannot read .*: no such file/,
  ],
]

for (const [title, source, message] of INVALID) {
  test(`${title} is rejected with its key and line`, () => {
    const [first, ...rest] = messagesOf([source])

    assert.match(first!, message)
    assert.deepEqual(rest, [])
  })
}

test('all problems are reported at once', () => {
  const messages = messagesOf(['version: 2\nweb_addr: x\ntunnels:\n  a: {proto: x}\n  b: {proto: http}\n'])

  assert.deepEqual(
    messages.map((message) => message.slice(0, 13)),
    ['0.yml line 2:', '0.yml line 4:', '0.yml line 5:'],
  )
})

test('of several files the one that sets the value is named', () => {
  const messages = messagesOf([
    'version: 2\ntunnels:\n  a: {proto: http, addr: 80}\n',
    'version: 3\n\ntunnels:\n  a:\n    addr: ftp://x\n',
  ])

  assert.match(messages.join('\n'), /^1\.yml line 5: addr of the tunnel "a"/)
})

test('a value from a flag or a variable is reported by its name', () => {
  assert.match(messagesOf(['version: 3\n'], { 'web-addr': 'x' }).join(), /^--web-addr: web_addr/)
  assert.match(
    messagesOf(['version: 3\n'], {}, { ADIT_CONNECT_URL: 'a b' }).join(),
    /^environment variable ADIT_CONNECT_URL: connect_url/,
  )
})

test('the two keywords for authorities are not read as files', () => {
  for (const word of ['trusted', 'host']) check([`version: 3\nagent: {connect_cas: ${word}}\n`])
})

test('valid definitions are returned by name', () => {
  const specs = check([
    'version: 3\nagent: {web_addr: false, web_allow_hosts: [.a.test, "2001:db8::/32"], dns_resolver_ips: ["[::1]:53"]}\nendpoints:\n  - {name: a, upstream: {url: 80}}\ntunnels:\n  b: {proto: tcp, addr: 22}\n',
  ])

  assert.deepEqual([...specs.keys()], ['b', 'a'])
})

test('definitions that serve one address are rejected together, unless they are pooled', () => {
  const define = (more: string) => [
    `version: 3
endpoints:
  - {name: a, url: https://App.example.com, upstream: {url: 80}${more}}
  - {name: b, url: app.example.com, upstream: {url: 81}${more}}
  - {name: other, url: tcp://app.example.com:443, upstream: {url: 82}}
  - {name: any, upstream: {url: 83}}
  - {name: any-too, upstream: {url: 84}}
`,
  ]

  assert.deepEqual(messagesOf(define('')), [
    '"a" and "b" both serve https://app.example.com; change one URL, or set "pooling_enabled: true" on both',
  ])
  assert.equal(check(define(', pooling_enabled: true')).size, 5)
  for (const url of ['https://app.example.com:443', 'https://app.example.com.', 'tls://app.example.com'])
    assert.match(
      messagesOf(define('').map((text) => text.replace('url: app.example.com,', `url: "${url}",`)))[0]!,
      /^"a" and "b" both serve /,
      url,
    )
})
