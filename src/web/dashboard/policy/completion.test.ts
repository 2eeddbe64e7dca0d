import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeLanguage } from '../../../policy/language.ts'
import { completionsAt } from './completion.ts'

const language = JSON.parse(JSON.stringify(describeLanguage()))

/** The labels at the bar in a text. */
function labelsAt(text: string): string[] {
  const caret = text.indexOf('|')
  return completionsAt(text.replace('|', ''), caret, language).options.map(({ label }) => label)
}

const RULE = 'on_http_request:\n  - '
const ACTION = `${RULE}actions:\n      - `

const cases: [what: string, text: string, first: readonly string[]][] = [
  ['phases at the margin', 'on_h|', ['on_http_request', 'on_http_response']],
  ['keys of a rule', `${RULE}|`, ['name', 'expressions', 'actions']],
  ['keys of an action', `${ACTION}t|`, ['type']],
  ['actions', `${ACTION}type: ra|`, ['rate-limit']],
  ['only actions of the phase', 'on_tcp_connect:\n  - actions:\n      - type: c|', ['close-connection']],
  ['fields of an action', `${ACTION}type: deny\n        config:\n          |`, ['status_code']],
  [
    'nested fields',
    `${ACTION}type: jwt-validation\n        config:\n          jws:\n            a|`,
    ['allowed_algorithms'],
  ],
  [
    'words of a field',
    `${ACTION}type: forward-internal\n        config:\n          on_error: |`,
    ['halt', 'continue'],
  ],
  ['variables in expressions', `${RULE}expressions: ["req.url.pa|"]`, ['req.url.path', 'req.url.parseUrl']],
  ['variables in entries below', `${RULE}expressions:\n      - conn.client_p|`, ['conn.client_port']],
  [
    'variables in interpolations',
    `${ACTION}type: custom-response\n        config:\n          body: hello \${endpoint.h|`,
    ['endpoint.host'],
  ],
  ['methods of a value', `${RULE}expressions: ["req.host.startsW|"]`, ['req.host.startsWith']],
  ['functions', `${RULE}expressions: ["inCidrRanges|"]`, []],
]

for (const [what, text, expected] of cases)
  test(`the editor completes ${what}`, () => {
    assert.deepEqual(labelsAt(text), expected)
  })

const JSON_RULE = '{"on_http_request": [{'
const JSON_ACTION = `${JSON_RULE}"actions": [{`

const jsonCases: [what: string, text: string, first: readonly string[]][] = [
  ['phases', '{"on_h|"}', ['on_http_request', 'on_http_response']],
  [
    'phases without a quote',
    '{ |',
    ['on_tcp_connect', 'on_http_request', 'on_http_response', 'on_event_stream_message'],
  ],
  ['a second phase', '{"on_tcp_connect": [{"actions": []}], "on_e|', ['on_event_stream_message']],
  ['keys of a rule', `${JSON_RULE}"|"}]}`, ['name', 'expressions', 'actions']],
  ['keys of an action', `${JSON_ACTION}"t|`, ['type']],
  ['actions', `${JSON_ACTION}"type": "ra|"`, ['rate-limit']],
  ['only actions of the phase', '{"on_tcp_connect": [{"actions": [{"type": "c|', ['close-connection']],
  ['fields of an action', `${JSON_ACTION}"type": "deny", "config": {"|`, ['status_code']],
  [
    'nested fields',
    `${JSON_ACTION}"type": "jwt-validation", "config": {"issuer": {}, "jws": {"a|`,
    ['allowed_algorithms'],
  ],
  [
    'words of a field',
    `${JSON_ACTION}"type": "forward-internal", "config": {"on_error": |`,
    ['halt', 'continue'],
  ],
  ['variables in expressions', `${JSON_RULE}"expressions": ["conn.client_p|"]`, ['conn.client_port']],
  [
    'variables after an escaped quote',
    `${JSON_RULE}"expressions": ["req.host == \\"a\\" && conn.client_p|`,
    ['conn.client_port'],
  ],
  [
    'variables in interpolations',
    `${JSON_ACTION}"type": "custom-response", "config": {"body": "hello \${endpoint.h|`,
    ['endpoint.host'],
  ],
  ['nothing in a list of rules', '{"on_http_request": [|', []],
]

for (const [what, text, expected] of jsonCases)
  test(`the editor completes ${what} in JSON`, () => {
    assert.deepEqual(labelsAt(text), expected)
  })

test('a completion in JSON adds the quotes that are missing', () => {
  const insertAt = (text: string) => {
    const caret = text.indexOf('|')
    return completionsAt(text.replace('|', ''), caret, language).options[0]?.insert
  }

  assert.equal(insertAt('{ |'), '"on_tcp_connect": ')
  assert.equal(insertAt('{"on_t|'), 'on_tcp_connect": ')
  assert.equal(insertAt('{"on_t|": []'), 'on_tcp_connect')
  assert.equal(insertAt(`${JSON_ACTION}"type": "rate|`), 'rate-limit"')
  assert.equal(insertAt(`${JSON_ACTION}"type": |`), '"add-headers"')
})

test('a response can be read in its phase alone', () => {
  const rule = (phase: string) => `${phase}:\n  - expressions: ["res.status|"]`

  assert.deepEqual(labelsAt(rule('on_http_request')), [])
  assert.deepEqual(labelsAt(rule('on_http_response')), ['res.status_code'])
})
