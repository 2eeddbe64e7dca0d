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

test('a response can be read in its phase alone', () => {
  const rule = (phase: string) => `${phase}:\n  - expressions: ["res.status|"]`

  assert.deepEqual(labelsAt(rule('on_http_request')), [])
  assert.deepEqual(labelsAt(rule('on_http_response')), ['res.status_code'])
})
