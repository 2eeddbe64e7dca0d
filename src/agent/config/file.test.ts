import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from './error.ts'
import { parseConfig } from './file.ts'

function refusal(source: string): string {
  try {
    parseConfig('adit.yml', source)
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error))
    return error.message
  }
  assert.fail('the file was accepted')
}

test('a version 2 file has agent keys at the top and tunnels in a map', () => {
  const file = parseConfig(
    'adit.yml',
    'version: "2"\nauthtoken: T\ntunnels:\n  web:\n    proto: http\n    addr: 3000\n',
  )

  assert.equal(file.version, 2)
  assert.equal(file.values.tunnels?.get('web')?.addr, '3000')
  assert.deepEqual(file.warnings, [])
})

test('a version 3 file has agent keys under agent and endpoints in a list', () => {
  const file = parseConfig(
    'adit.yml',
    'version: 3\nagent:\n  connect_timeout: 1m30s\nendpoints:\n  - name: web\n    upstream:\n      url: 3000\n',
  )

  assert.ok(file.version === 3)
  assert.equal(file.values.agent?.connect_timeout, 90_000)
  assert.equal(file.values.endpoints?.[0]?.upstream?.url, '3000')
})

test('a missing version is read as version 2 with a warning', () => {
  const file = parseConfig('adit.yml', 'authtoken: T\n')

  assert.equal(file.version, 2)
  assert.match(file.warnings.join(), /has no "version"/)
})

const REFUSED: [title: string, source: string, message: RegExp][] = [
  [
    'an unknown key names its line and the nearest key',
    'version: 2\n\nweb_adr: x\n',
    /adit\.yml line 3: unknown key "web_adr"; did you mean "web_addr"\?/,
  ],
  [
    'an unknown key of a tunnel names its line',
    'version: 2\ntunnels:\n  web:\n    adr: 80\n',
    /line 4: unknown key "adr"; did you mean "addr"\?/,
  ],
  [
    'an agent key at the top of version 3 says where it belongs',
    'version: 3\nauthtoken: T\n',
    /line 2: unknown key "authtoken"; in version 3 it belongs under "agent:"/,
  ],
  [
    'a version 3 name in version 2 says the version 2 name',
    'version: 2\nconnect_url: a:1\n',
    /version 2 files call it "server_addr"/,
  ],
  [
    'a wrong type names line and key',
    'version: 2\nupdate_check: maybe\n',
    /line 2: update_check must be true or false/,
  ],
  [
    'a list where one is needed',
    'version: 2\nweb_allow_hosts: a\n',
    /line 2: web_allow_hosts must be a list/,
  ],
  ['a tab says that spaces are needed', 'version: 2\ntunnels:\n\tweb: 1\n', /line 3: .*indented with spaces/],
  ['an unknown version is refused', 'version: 4\n', /line 1: version must be 2 or 3, not "4"/],
  ['a key given twice is refused', 'version: 2\nlog: a\nlog: b\n', /line 3: Map keys must be unique/],
  ['a document that is not a map is refused', '- a\n', /must be a map/],
  [
    'a bad duration is refused',
    'version: 2\nconnect_timeout: soon\n',
    /line 2: connect_timeout must be a duration/,
  ],
  [
    'too long metadata is refused',
    `version: 2\nmetadata: ${'x'.repeat(4097)}\n`,
    /not be longer than 4096 bytes/,
  ],
]

for (const [title, source, message] of REFUSED) {
  test(title, () => {
    assert.match(refusal(source), message)
  })
}

test('every problem is told at once', () => {
  assert.equal(refusal('version: 2\nlog_levl: info\nwebaddr: x\n').split('\n').length, 2)
})

test('a value in an error is never the token itself', () => {
  assert.doesNotMatch(refusal('version: 2\nauthtoken: [s3cret]\n'), /s3cret/)
})

test('mangled files are refused with a sentence, never with a crash', () => {
  const seed = Number(process.env.SEED ?? Date.now() % 1e9)
  let state = seed
  const random = (below: number) => {
    state = (state * 1103515245 + 12345) % 2 ** 31
    return state % below
  }
  const corpus =
    'version: "3"\nagent: &a\n  authtoken: T # note\n  web_allow_hosts: [a, "b"]\nendpoints:\n  - name: x\n    upstream: {url: 80}\ntunnels:\n  <<: *a\n  __proto__: {addr: 1}\n'
  const odd = [
    '\t',
    ':',
    '*a',
    '&b ',
    '- ',
    '{',
    '[',
    '"',
    "'",
    '|',
    '\u0000',
    'é',
    '!!binary ',
    '<<: ',
    '? ',
    '---\n',
  ]

  for (let round = 0; round < 3000; round++) {
    let text = corpus
    for (let edits = 1 + random(4); edits > 0; edits--) {
      const at = random(text.length + 1)
      text = text.slice(0, at) + odd[random(odd.length)] + text.slice(at + random(5))
    }
    try {
      parseConfig('adit.yml', text)
    } catch (error) {
      assert.ok(
        error instanceof ConfigError,
        `seed ${seed}, round ${round}: ${(error as Error).stack}\n${text}`,
      )
    }
  }
})
