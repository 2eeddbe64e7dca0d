import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseFilter } from './filter.ts'
import { FilterError } from './filter-tokens.ts'

const event: Record<string, unknown> = {
  'conn.client_ip': '192.0.2.7',
  'conn.server_port': 443,
  'http.request.method': 'POST',
  'http.request.headers': { 'X-Kind': ['a'] },
  'http.response.status_code': 503,
  'backend.connection_reused': true,
}
const fields = new Set([...Object.keys(event), 'oauth.user.name'])
const getterOf = (field: string) => (fields.has(field) ? () => event[field] : undefined)
const passes = (source: string) => parseFilter(source, getterOf)(undefined)

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
  ['"\\x41\\u0042\\"" == "AB\\""', true],
]

for (const [source, expected] of cases) {
  test(`the filter ${source || '(empty)'} is ${expected} for the sample`, () => {
    assert.equal(passes(source), expected)
  })
}

test('a comparison with an absent field or another type is unknown, and unknown does not match', () => {
  assert.equal(passes('ev.oauth.user.name == "ann"'), false)
  assert.equal(passes('ev.oauth.user.name != "ann"'), false)
  assert.equal(passes('!(ev.oauth.user.name == "ann")'), false)
  assert.equal(passes('ev.oauth.user.name == "ann" || ev.conn.server_port == 443'), true)
  assert.equal(passes('ev.conn.server_port == "443"'), false)
  assert.equal(passes('ev.conn.client_ip'), false)
})

const invalid: [source: string, message: RegExp][] = [
  ['ev.conn.colour == 1', /no field "conn\.colour" \(at character 1\)/],
  ['ev == 1', /no field ""/],
  ['ev.conn.client_ip == ', /value was expected instead of the end/],
  ['ev.conn.client_ip = "x"', /"=" is not allowed here/],
  ['(true', /\) was expected/],
  ['true true', /true was not expected/],
  ['size(ev.conn.client_ip) > 1', /size is not known/],
  ['ev.conn.client_ip.startsWith("1")', /Functions are not supported/],
  ['1 < 2 < 3', /< was not expected/],
  ['"open', /is not allowed here/],
  ['"\\q" == "q"', /not a known escape/],
  ['-"x" == "x"', /only allowed before a number/],
  ['[1, 2', /\] was expected/],
  [`${'('.repeat(500)}true${')'.repeat(500)}`, /nested too deeply/],
  [`${'!'.repeat(4000)}true`, /nested too deeply/],
]

for (const [source, message] of invalid) {
  test(`the filter ${source.slice(0, 40)} is rejected with a reason`, () => {
    assert.throws(
      () => passes(source),
      (error) => error instanceof FilterError && message.test(error.message),
    )
  })
}
