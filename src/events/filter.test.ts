import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FilterError, filterEnvironment, parseFilter } from './filter.ts'

const event: Record<string, unknown> = {
  'conn.client_ip': '192.0.2.7',
  'conn.server_port': 443,
  'http.request.method': 'POST',
  'http.request.headers': { 'X-Kind': ['a'] },
  'http.response.status_code': 503,
  'backend.connection_reused': true,
}
const names = [...Object.keys(event), 'oauth.user.name']
const environment = filterEnvironment(new Map(names.map((name) => [name, () => event[name]])))
const passes = (source: string) => parseFilter(source, environment)({})

const cases: [source: string, expected: boolean][] = [
  ['', true],
  ['true', true],
  ['ev.http.response.status_code >= 500', true],
  ['ev.http.response.status_code < 500', false],
  ['ev.http.response.status_code == 503.0', true],
  ['ev.http.response.status_code > -1 && ev.conn.server_port == 0x1bb', true],
  ["ev.http.request.method == 'POST'", true],
  ['ev.http.request.method in ["PUT", "POST"]', true],
  ['!(ev.http.request.method in ["PUT", "POST"])', false],
  ['ev.http.request.method in []', false],
  ['"X-Kind" in ev.http.request.headers', true],
  ['"toString" in ev.http.request.headers', false],
  ['ev.backend.connection_reused && ev.conn.client_ip != "192.0.2.8"', true],
  ['!ev.backend.connection_reused || ev.conn.server_port <= 443', true],
  ['false || true && false', false],
  ['(false || true) && true', true],
  ["ev.conn.client_ip.startsWith('192.') && size(ev.conn.client_ip) < 15", true],
  ["ev.http.request.headers['X-Kind'].exists(value, value.matches('^[a-c]$'))", true],
  [
    "'q' in ev.http.request.headers ? ev.http.request.headers['q'][0] == 'a' : ev.conn.server_port % 2 == 1",
    true,
  ],
  ['has(ev.oauth.user.name)', false],
  ['"\\x41\\u0042\\"" == "AB\\""', true],
]

for (const [source, expected] of cases) {
  test(`the filter ${source || '(empty)'} is ${expected} for the sample`, () => {
    assert.equal(passes(source), expected)
  })
}

test('a filter that reads an absent field or orders different types cannot be evaluated, and does not match', () => {
  assert.equal(passes('ev.oauth.user.name == "ann"'), false)
  assert.equal(passes('ev.oauth.user.name != "ann"'), false)
  assert.equal(passes('!(ev.oauth.user.name == "ann")'), false)
  assert.equal(passes('ev.oauth.user.name == "ann" || ev.conn.server_port == 443'), true)
  assert.equal(passes('ev.conn.server_port == "443"'), false)
  assert.equal(passes('!(ev.conn.server_port < "444")'), false)
  assert.equal(passes('ev.conn.client_ip'), false)
})

test('a filter that takes too long does not match', () => {
  assert.equal(passes('lists.range(1000).all(x, lists.range(1000).all(y, x + y >= 0))'), false)
})

const invalid: [source: string, message: RegExp][] = [
  ['ev.conn.colour == 1', /^ev\.conn has no field colour \(line 1, column 8\)$/],
  ['ev.conn.client_up == 1', /no field client_up; did you mean client_ip\?/],
  ['ev == 1', /== cannot be applied to \(ev, int\)/],
  ['ev.conn.client_ip == ', /the end was not expected/],
  ['ev.conn.client_ip = "x"', /"=" is not allowed here/],
  ['(true', /\) was expected/],
  ['true true', /true was not expected/],
  ['event.conn.client_ip == "x"', /event is not known/],
  ['length(ev.conn.client_ip) > 1', /there is no function length/],
  ['ev.conn.client_ip.beginsWith("1")', /there is no function beginsWith/],
  ['ev.conn.client_ip.matches("(")', /cannot be used as a pattern/],
  ['size(ev.conn.client_ip)', /has to be true or false/],
  ['"open', /the text has no end/],
  ['"\\q" == "q"', /not a known escape/],
  ['-"x" == "x"', /- cannot be applied to \(string\)/],
  ['[1, 2', /\] was expected/],
  [`${'('.repeat(500)}true${')'.repeat(500)}`, /nested more than 100 deep/],
  [`${'!'.repeat(4000)}true`, /nested more than 100 deep/],
]

for (const [source, message] of invalid) {
  test(`the filter ${source.slice(0, 40)} is rejected with a reason`, () => {
    assert.throws(
      () => passes(source),
      (error) => error instanceof FilterError && message.test(error.message),
    )
  })
}
