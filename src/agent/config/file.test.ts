import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom, rounds } from '../../../test/support/random.ts'
import { measureThreadCpu } from '../../../test/support/thread-cpu.ts'
import { ConfigError } from './error.ts'
import { parseConfig } from './file.ts'

function errorOf(source: string): string {
  try {
    const { definitionProblems } = parseConfig('adit.yml', source)
    if (definitionProblems.length > 0) return definitionProblems.map(({ message }) => message).join('\n')
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

test('a duration is a text with units or a number of seconds, with quotes or without', () => {
  for (const [written, milliseconds] of [
    ['10s', 10_000],
    ['"10s"', 10_000],
    ['10', 10_000],
    ['"10"', 10_000],
    ["'1.5'", 1500],
  ] as const) {
    const file = parseConfig('adit.yml', `version: 3\nagent:\n  connect_timeout: ${written}\n`)
    assert.ok(file.version === 3)
    assert.equal(file.values.agent?.connect_timeout, milliseconds, written)
  }
  for (const written of ['""', '" "', '-1', 'NaN', 'Infinity', '.inf', '10 s'])
    assert.throws(
      () => parseConfig('adit.yml', `version: 3\nagent:\n  connect_timeout: ${written}\n`),
      /must be a duration such as 10s or 1m30s/,
      written,
    )
})

test('the option of an endpoint that counts seconds is a duration too, of a year at most', () => {
  const parse = (interval: string) =>
    parseConfig(
      'adit.yml',
      `version: 2\ntunnels:\n  web: {proto: http, addr: 80, oidc: {userinfo_refresh_interval: ${interval}}}\n`,
    )
  const secondsOf = (interval: string) => {
    const file = parse(interval)
    assert.ok(file.version === 2)
    return file.values.tunnels?.get('web')?.oidc?.userinfo_refresh_interval
  }
  const problemOf = (interval: string) => parse(interval).definitionProblems[0]?.message ?? ''

  assert.deepEqual([secondsOf('5m'), secondsOf('300'), secondsOf('0')], [300, 300, 0])
  assert.match(problemOf('8761h'), /must be at most 31536000s/)
  assert.match(problemOf('soon'), /must be a duration/)
})

test('a missing version is read as version 2 with a warning', () => {
  const file = parseConfig('adit.yml', 'authtoken: T\n')

  assert.equal(file.version, 2)
  assert.match(file.warnings.join(), /has no "version"/)
})

test('web_addr and log may be false in files of both versions', () => {
  const version2 = parseConfig('adit.yml', 'version: 2\nweb_addr: false\nlog: False\n')
  const version3 = parseConfig('adit.yml', 'version: 3\nagent:\n  web_addr: false\n  log: false\n')

  assert.ok(version2.version === 2 && version3.version === 3)
  assert.deepEqual([version2.values.web_addr, version2.values.log], ['false', 'false'])
  assert.deepEqual(version3.values.agent, { web_addr: 'false', log: 'false' })
})

test('a string value keeps its source text', () => {
  const { version, values } = parseConfig(
    'adit.yml',
    'version: 2\nmetadata: 12345678901234567890\ntunnels:\n  080:\n    {proto: tls, addr: 443, subdomain: 007, description: 1e3}\n  yes: {proto: tcp, addr: 0x16, metadata: True}\n',
  )

  assert.ok(version === 2)
  assert.equal(values.metadata, '12345678901234567890')
  assert.deepEqual(Object.fromEntries(values.tunnels ?? []), {
    '080': { proto: 'tls', addr: '443', subdomain: '007', description: '1e3' },
    yes: { proto: 'tcp', addr: '0x16', metadata: 'True' },
  })
})

test('a policy keeps its numbers and booleans', () => {
  const { values } = parseConfig(
    'adit.yml',
    'version: 2\ntunnels:\n  web:\n    traffic_policy: {on: [{code: 403, enabled: true}]}\n',
  )

  assert.equal(values.tunnels?.get('web')?.traffic_policy, '{"on":[{"code":403,"enabled":true}]}')
})

test('booleans may use the YAML 1.1 forms', () => {
  const { values } = parseConfig(
    'adit.yml',
    'version: 2\nlocal_storage: off\nremote_management: No\nupdate_check: yes\ncrl_noverify: ON\nconsole_ui: off\n',
  )

  assert.deepEqual(values, {
    version: '2',
    local_storage: false,
    remote_management: false,
    update_check: true,
    crl_noverify: true,
    console_ui: 'false',
  })
})

test('merge keys include an anchor, and problems in it are reported with their line', () => {
  const source = (key: string) =>
    `version: 2\ntunnels:\n  web: &web\n    proto: http\n    ${key}: 80\n  api:\n    <<: *web\n    inspect: false\n`

  const { values } = parseConfig('adit.yml', source('addr'))

  assert.deepEqual(values.tunnels?.get('api'), { proto: 'http', addr: '80', inspect: false })
  assert.match(errorOf(source('adr')), /^adit\.yml line 5: .*\nadit\.yml line 5: unknown key "adr"/)
})

const INVALID: [title: string, source: string, message: RegExp][] = [
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
    'a part of a key is enough to name it',
    'version: 2\ntoken: T\n',
    /line 2: unknown key "token"; did you mean "authtoken"\?/,
  ],
  [
    'a misspelt removed key says that it was removed',
    'version: 3\nagent:\n  regoin: eu\n',
    /line 3: unknown key "regoin"; did you mean "region"\? version 3 has no regions; remove the line/,
  ],
  [
    'a short misspelt key names the nearest one',
    'version: 3\nendpoints:\n  - nm: x\n',
    /line 3: unknown key "nm"; did you mean "name"\?/,
  ],
  [
    'a key unlike any other lists the valid keys',
    'version: 3\nendpoints:\n  - name: a\n    upstream: {url: 80, quux: 1}\n',
    /line 4: unknown key "quux"; valid keys are url, protocol, proxy_protocol, tls_verify, tls_verify_cas$/,
  ],
  [
    'a key unlike any other among many lists some of them',
    'version: 2\nquux: 1\n',
    /unknown key "quux"; valid keys are version, authtoken, .* and \d+ more/,
  ],
  [
    'an empty choice has a name',
    'version: 2\ntunnels:\n  web: {proxy_proto: 3}\n',
    /proxy_proto must be one of 1, 2, empty, not the number 3/,
  ],
  ['web_addr cannot be true', 'version: 2\nweb_addr: true\n', /line 2: web_addr must be host:port or false/],
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
    'a single value in place of a list is rejected',
    'version: 2\nweb_allow_hosts: a\n',
    /line 2: web_allow_hosts must be a list/,
  ],
  ['a tab says that spaces are needed', 'version: 2\ntunnels:\n\tweb: 1\n', /line 3: .*indented with spaces/],
  ['an unknown version is rejected', 'version: 4\n', /line 1: version must be 2 or 3, not "4"/],
  ['a duplicate key is rejected', 'version: 2\nlog: a\nlog: b\n', /line 3: Map keys must be unique/],
  ['a document that is not a map is rejected', '- a\n', /must be a map/],
  [
    'an invalid duration is rejected',
    'version: 2\nconnect_timeout: soon\n',
    /line 2: connect_timeout must be a duration/,
  ],
  [
    'metadata that is too long is rejected',
    `version: 2\nmetadata: ${'x'.repeat(4097)}\n`,
    /not be longer than 4096 bytes/,
  ],
]

for (const [title, source, message] of INVALID) {
  test(title, () => {
    assert.match(errorOf(source), message)
  })
}

test('all problems are reported at once', () => {
  assert.equal(errorOf('version: 2\nlog_levl: info\nwebaddr: x\n').split('\n').length, 2)
})

test('an error never contains the token', () => {
  assert.doesNotMatch(errorOf('version: 2\nauthtoken: [s3cret]\n'), /s3cret/)
})

test('mangled files are rejected with a ConfigError and never crash', () => {
  const { seed, below: random } = createRandom()
  const corpus =
    'version: "3"\nagent: &a\n  authtoken: T # note\n  web_allow_hosts: [a, "b"]\nendpoints:\n  - name: x\n    upstream: {url: 80}\ntunnels:\n  <<: *a\n  __proto__: {addr: 1}\n'
  const fragments = [
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

  for (const round of rounds(3000)) {
    let text = corpus
    for (let edits = 1 + random(4); edits > 0; edits--) {
      const position = random(text.length + 1)
      text = text.slice(0, position) + fragments[random(fragments.length)] + text.slice(position + random(5))
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

test('a long file with many mistakes is read in time linear in its length, each mistake with its line', async () => {
  const lines = Array.from({ length: 20_000 }, (_, n) => `key${n}: 1`)

  let message = ''
  const ms = await measureThreadCpu(() => {
    message = errorOf(`version: 3\n${lines.join('\n')}`)
  })

  assert.match(message, /line 20001: unknown key "key19999"/)
  // A tenth of it is usual; comparing each key with all others took 27 seconds.
  assert.ok(ms < 5000, `${ms} ms`)
})
