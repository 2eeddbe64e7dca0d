import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InvalidCommand, NO_COMMAND, parseCommand, sanitize } from './command-line.ts'

test('an empty command requests nothing', () => {
  assert.deepEqual(NO_COMMAND, {
    proto: undefined,
    forwardsTo: '',
    output: 'text',
    requestLog: true,
    name: '',
    description: '',
    metadata: '',
    pooling: false,
    poolingWeight: 1,
    labels: undefined,
    opts: {},
    displayOnly: true,
  })
})

const VALID: [line: string, expected: object][] = [
  ['http', { proto: 'http', displayOnly: true }],
  ['http 3000', { proto: 'http', forwardsTo: 'localhost:3000', displayOnly: false }],
  ['tcp 192.168.0.2:22', { proto: 'tcp', forwardsTo: '192.168.0.2:22' }],
  ['tls --domain a.example.com', { proto: 'tls', opts: { Domain: 'a.example.com' } }],
  ['--output json', { proto: undefined, output: 'json', displayOnly: true }],
  ['http --output=json --inspect=false', { output: 'json', requestLog: false, displayOnly: true }],
  ['http -inspect=false', { requestLog: false }],
  ['http --metadata \'a b\' --name "c \\"d\\""', { metadata: 'a b', name: 'c "d"' }],
  ['http --pooling-enabled --pooling-weight 7', { pooling: true, poolingWeight: 7 }],
  ['http --label a=b --label c=d=e', { labels: { a: 'b', c: 'd=e' } }],
  [
    'http --basic-auth u:p --auth v:q:r',
    {
      opts: {
        BasicAuth: {
          credentials: [
            { username: 'u', cleartext_password: 'p' },
            { username: 'v', cleartext_password: 'q:r' },
          ],
        },
      },
    },
  ],
  ['http 80 --host-header rewrite', { opts: { RequestHeaders: { add: ['host:localhost:80'] } } }],
  ['http --host-header a.test', { opts: { RequestHeaders: { add: ['host:a.test'] } } }],
  [
    'tcp --cidr-allow 10.0.0.0/8 --cidr-deny ::/0 --proxy-proto 2',
    { opts: { ProxyProto: 2, IPRestriction: { allow_cidrs: ['10.0.0.0/8'], deny_cidrs: ['::/0'] } } },
  ],
  ['tls --terminate-at edge', { opts: { TLSTermination: {} } }],
  [
    'http --compression --circuit-breaker 0.5',
    { opts: { Compression: {}, CircuitBreaker: { error_threshold: 0.5 } } },
  ],
]

for (const [line, expected] of VALID)
  test(`"${line}" is parsed`, () => {
    const command = parseCommand(line) as unknown as Record<string, unknown>

    for (const [key, value] of Object.entries(expected)) assert.deepEqual(command[key], value, key)
  })

const INVALID: [line: string, reason: RegExp][] = [
  ['ls -l', /"ls" cannot be run/],
  ['/bin/sh -c id', /cannot be run/],
  ['http 80 81', /one word too many/],
  ['http --nonsense', /Unknown option '--nonsense'/],
  ['http --metadata', /--metadata/],
  ['tcp --basic-auth a:b', /http only/],
  ['http --basic-auth nocolon', /user:password/],
  ['http --label =x', /key=value/],
  ['http --host-header rewrite', /needs the address/],
  ['http --output xml', /text or json/],
  ['http --pooling-weight 10001', /0 to 10000/],
  ['http --pooling-weight 1.5', /whole number/],
  ['http --proxy-proto 3', /--proxy-proto/],
  ['http --circuit-breaker lots', /0 to 1/],
  ["http --metadata 'open", /unmatched quote/],
  [`http --metadata ${'x'.repeat(20_000)}`, /longer than/],
  ['http --metadata a\0b', /U\+0000/],
]

for (const [line, reason] of INVALID)
  test(`"${sanitize(line, 40)}" is rejected with a reason`, () => {
    assert.throws(
      () => parseCommand(line),
      (error) => error instanceof InvalidCommand && reason.test(error.message),
    )
  })

test('untrusted text cannot control a terminal', () => {
  assert.equal(sanitize('a\u001b[2Jb\r\nc\u009bd\u202ee'), 'a\ufffd[2Jb\ufffd\ufffdc\ufffdd\ufffde')
  assert.equal(sanitize('x'.repeat(200), 5), 'xxxxx…')
})
