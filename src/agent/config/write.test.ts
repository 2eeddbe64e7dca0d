import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { parseConfig } from './file.ts'
import { upgradeConfig } from './upgrade.ts'
import { saveKey } from './write.ts'

function createPath(content?: string): string {
  const dir = createTempDir()
  const path = join(dir, 'sub', 'adit.yml')
  if (content !== undefined) {
    saveKey(path, 'authtoken', 'x')
    writeFileSync(path, content)
  }
  return path
}

test('saving a key to a new file creates a version 3 file that only its owner can read', () => {
  const path = createPath()

  saveKey(path, 'authtoken', 'TOKEN')

  assert.equal(readFileSync(path, 'utf8'), 'version: "3"\nagent:\n  authtoken: TOKEN\n')
  assert.equal(statSync(path).mode & 0o777, 0o600)
})

test('saving a key preserves other keys, comments and tunnel definitions', () => {
  const before =
    '# mine\nversion: "2"\n\nauthtoken: old # keep this note\nlog_level: debug\n\n# the site\ntunnels:\n  web:\n    addr: 3000 # here\n    proto: http\n'
  const path = createPath(before)

  saveKey(path, 'authtoken', 'new')
  saveKey(path, 'connect_url', 'tunnel.example.com:443')

  assert.equal(
    readFileSync(path, 'utf8'),
    `${before.replace('old', 'new')}server_addr: tunnel.example.com:443\n`,
  )
})

const UNUSUAL = `# mine
version: "2"
log:    stdout   # as ever


metadata: 12345678901234567890
tunnels:
    web:
        addr: 080
        subdomain: 007
        metadata: 1e3
        labels:   [ a,b ]
        description: |
          # no comment

          text
`

test('no other character of a file changes when a key is saved', () => {
  const path = createPath(UNUSUAL)

  saveKey(path, 'authtoken', 'T')
  saveKey(path, 'authtoken', 'new')

  assert.equal(readFileSync(path, 'utf8'), `${UNUSUAL}authtoken: new\n`)
})

const SAVE_CASES: [title: string, before: string, after: string][] = [
  [
    'a value of its own line',
    'version: 3\nagent:\n  authtoken: old\n',
    'version: 3\nagent:\n  authtoken: T\n',
  ],
  [
    'an absent value',
    'version: 3\nagent:\n  authtoken: # none\n',
    'version: 3\nagent:\n  authtoken: T # none\n',
  ],
  ['an alias', 'version: 2\napi_key: &k x\nauthtoken: *k\n', 'version: 2\napi_key: &k x\nauthtoken: T\n'],
  ['a block of lines', 'version: 2\nauthtoken: |\n  old\nlog: a\n', 'version: 2\nauthtoken: T\nlog: a\n'],
  ['an empty map in braces', 'version: 3\nagent: {}\n', 'version: 3\nagent: { authtoken: T }\n'],
  ['a map in braces', '{version: 3, agent: {log: a}}\n', '{version: 3, agent: {log: a, authtoken: T}}\n'],
  ['an agent without keys', 'version: 3\nagent:\n', 'version: 3\nagent: { authtoken: T }\n'],
  [
    'no agent at all',
    'version: 3\ntunnels:\n    a: {addr: 1}',
    'version: 3\ntunnels:\n    a: {addr: 1}\nagent:\n    authtoken: T\n',
  ],
  [
    'an agent between others',
    'version: 3\nagent:\n    log: a # x\n\n# next\ntunnels: {}\n',
    'version: 3\nagent:\n    log: a # x\n    authtoken: T\n\n# next\ntunnels: {}\n',
  ],
  ['Windows lines', 'version: 2\r\nlog: a\r\n', 'version: 2\r\nlog: a\r\nauthtoken: T\r\n'],
  ['comments alone', '# mine\n', '# mine\nversion: "3"\nagent:\n  authtoken: T\n'],
  ['no version', '# mine\nlog: a\n', '# mine\nversion: "2"\nlog: a\nauthtoken: T\n'],
]

for (const [title, before, after] of SAVE_CASES) {
  test(`a key is saved in a file with ${title}`, () => {
    const path = createPath(before)

    saveKey(path, 'authtoken', 'T')

    assert.equal(readFileSync(path, 'utf8'), after)
  })
}

test('a token that YAML would read as another type is saved in quotes', () => {
  for (const token of ['007', 'true', 'off', '1e3', 'a: b', '#x', '*x', 'a\\"b']) {
    const path = createPath('version: 3\n')

    saveKey(path, 'authtoken', token)

    const file = parseConfig(path, readFileSync(path, 'utf8'))
    assert.ok(file.version === 3)
    assert.equal(file.values.agent?.authtoken, token)
  }
})

test('a key that cannot be set without touching others is left to the user', () => {
  const before = 'version: 3\nagent: &a\n  authtoken: [x]\n'
  const path = createPath(before)

  assert.throws(() => saveKey(path, 'authtoken', 'T'), /nothing was changed. Set agent.authtoken by hand/)
  assert.equal(readFileSync(path, 'utf8'), before)
})

test('a directory in place of the file is reported as such', () => {
  const path = createPath('')

  assert.throws(() => saveKey(join(path, '..'), 'authtoken', 'T'), /cannot read .*: it is a directory/)
})

test('a file without a version gets one', () => {
  const path = createPath('log: stdout\n')

  saveKey(path, 'api_key', 'K')

  assert.deepEqual(parseConfig(path, readFileSync(path, 'utf8')).warnings, [])
})

test('a file that is not YAML is not overwritten', () => {
  const path = createPath('a: [\n')

  assert.throws(() => saveKey(path, 'authtoken', 'T'), /line/)
  assert.equal(readFileSync(path, 'utf8'), 'a: [\n')
})

test('a symbolic link stays a link', () => {
  const path = createPath('version: "2"\n')
  const link = `${path}.link`
  symlinkSync(path, link)

  saveKey(link, 'authtoken', 'T')

  assert.match(readFileSync(path, 'utf8'), /authtoken: T/)
})

test('an unversioned file becomes version 3 with a backup beside it', () => {
  const before =
    '# mine\nauthtoken: T # secret\nserver_addr: a:1\nregion: eu\nupdate: false\ntunnels:\n  web:\n    addr: 80\n    bind_tls: both\n    auth: me:password\n'
  const path = createPath(before)

  const upgrade = upgradeConfig(path, { to: 3, dryRun: false, relocateTo: undefined })

  const content = readFileSync(path, 'utf8')
  assert.equal(upgrade.content, content)
  assert.equal(readFileSync(`${path}.v1.bak`, 'utf8'), before)
  assert.match(content, /authtoken: T # secret/)
  const file = parseConfig(path, content)
  assert.ok(file.version === 3)
  assert.deepEqual(file.values.agent, { authtoken: 'T', connect_url: 'a:1', update_check: false })
  assert.deepEqual(file.values.tunnels?.get('web'), {
    addr: '80',
    schemes: ['http', 'https'],
    basic_auth: ['me:password'],
  })
})

test('an upgrade moves keys with their comments and changes no other character', () => {
  const path = createPath(
    UNUSUAL.replace('metadata', '# what it is for\nmetadata').replace('log:', 'region: us\nlog:'),
  )

  const { content } = upgradeConfig(path, { to: 3, dryRun: true, relocateTo: undefined })

  const [before, tunnels] = UNUSUAL.split(/(?=tunnels:)/) as [string, string]
  const moved = before
    .replace('# mine\nversion: "2"\n', '')
    .replace('metadata', '# what it is for\nmetadata')
    .replace(/^(?=.)/gm, '    ')
  assert.equal(content, `# mine\nversion: "3"\nagent:\n${moved}${tunnels}`)
})

test('a file with a single flow map is upgraded as such', () => {
  const path = createPath(
    '{authtoken: "T", server_addr: a:1, tunnels: {web: {addr: 80, auth: "a:longenough"}}}\n',
  )

  const { content } = upgradeConfig(path, { to: 3, dryRun: true, relocateTo: undefined })

  assert.equal(
    content,
    '{version: "3", agent: {authtoken: "T", connect_url: a:1}, tunnels: {web: {addr: 80, basic_auth: ["a:longenough"]}}}\n',
  )
})

test('web_addr: false survives an upgrade', () => {
  const path = createPath('version: "2"\nweb_addr: false\n')

  const { content } = upgradeConfig(path, { to: 3, dryRun: true, relocateTo: undefined })

  assert.equal(content, 'version: "3"\nagent:\n  web_addr: false\n')
})

test("a rejected upgrade names the lines of the user's file", () => {
  for (const [source, line] of [
    ['# a\nregion: us\nlog: x\nweb_adr: y\n', 4],
    ['tunnels:\n  web:\n    bind_tls: true\n    adr: 80\nversion: "2"\n', 3],
    ['tunnels:\n  web:\n    bind_tls: true\n    adr: 80\n', 4],
  ] as const) {
    const path = createPath(source)

    assert.throws(
      () => upgradeConfig(path, { to: 3, dryRun: true, relocateTo: undefined }),
      new RegExp(`adit\\.yml line ${line}: unknown key`),
    )
  }
})

test('an unversioned file becomes version 2 with a region', () => {
  const path = createPath('authtoken: T\n')

  const { content } = upgradeConfig(path, { to: 2, dryRun: false, relocateTo: undefined })

  assert.equal(content, 'version: "2"\nauthtoken: T\nregion: us\n')
})

test('a dry run writes nothing', () => {
  const path = createPath('authtoken: T\n')

  upgradeConfig(path, { to: 3, dryRun: true, relocateTo: undefined })

  assert.equal(readFileSync(path, 'utf8'), 'authtoken: T\n')
  assert.ok(!existsSync(`${path}.v1.bak`))
})

test('an upgrade can move the file to its default location', () => {
  const path = createPath('authtoken: T\n')
  const target = join(path, '..', '..', 'home', 'adit.yml')

  const upgrade = upgradeConfig(path, { to: 3, dryRun: false, relocateTo: target })

  assert.equal(readFileSync(target, 'utf8'), upgrade.content)
  assert.ok(!existsSync(path))
})

test('a newer version is never downgraded', () => {
  const path = createPath('version: "3"\n')

  assert.throws(
    () => upgradeConfig(path, { to: 2, dryRun: false, relocateTo: undefined }),
    /cannot be downgraded/,
  )
})
