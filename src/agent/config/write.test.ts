import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parseConfig } from './file.ts'
import { upgradeConfig } from './upgrade.ts'
import { saveKey } from './write.ts'

function place(t: TestContext, content?: string): string {
  const dir = mkdtempSync(join(tmpdir(), 'adit-config-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const path = join(dir, 'sub', 'adit.yml')
  if (content !== undefined) {
    saveKey(path, 'authtoken', 'x')
    writeFileSync(path, content)
  }
  return path
}

test('a key written to a new file makes a version 3 file only its owner can read', (t) => {
  const path = place(t)

  saveKey(path, 'authtoken', 'TOKEN')

  assert.equal(readFileSync(path, 'utf8'), 'version: "3"\nagent:\n  authtoken: TOKEN\n')
  assert.equal(statSync(path).mode & 0o777, 0o600)
})

test('other keys, comments and tunnel definitions stay as they were', (t) => {
  const before =
    '# mine\nversion: "2"\n\nauthtoken: old # keep this note\nlog_level: debug\n\n# the site\ntunnels:\n  web:\n    addr: 3000 # here\n    proto: http\n'
  const path = place(t, before)

  saveKey(path, 'authtoken', 'new')
  saveKey(path, 'connect_url', 'tunnel.example.com:443')

  assert.equal(
    readFileSync(path, 'utf8'),
    `${before.replace('old', 'new')}server_addr: tunnel.example.com:443\n`,
  )
})

test('a file without a version gets one', (t) => {
  const path = place(t, 'log: stdout\n')

  saveKey(path, 'api_key', 'K')

  assert.deepEqual(parseConfig(path, readFileSync(path, 'utf8')).warnings, [])
})

test('a file that is not YAML is not overwritten', (t) => {
  const path = place(t, 'a: [\n')

  assert.throws(() => saveKey(path, 'authtoken', 'T'), /line/)
  assert.equal(readFileSync(path, 'utf8'), 'a: [\n')
})

test('a symbolic link stays a link', (t) => {
  const path = place(t, 'version: "2"\n')
  const link = `${path}.link`
  symlinkSync(path, link)

  saveKey(link, 'authtoken', 'T')

  assert.match(readFileSync(path, 'utf8'), /authtoken: T/)
})

test('an unversioned file becomes version 3 with a backup beside it', (t) => {
  const before =
    '# mine\nauthtoken: T # secret\nserver_addr: a:1\nregion: eu\nupdate: false\ntunnels:\n  web:\n    addr: 80\n    bind_tls: both\n    auth: me:password\n'
  const path = place(t, before)

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

test('an unversioned file becomes version 2 with a region', (t) => {
  const path = place(t, 'authtoken: T\n')

  const { content } = upgradeConfig(path, { to: 2, dryRun: false, relocateTo: undefined })

  assert.equal(content, 'version: "2"\nauthtoken: T\nregion: us\n')
})

test('a dry run writes nothing', (t) => {
  const path = place(t, 'authtoken: T\n')

  upgradeConfig(path, { to: 3, dryRun: true, relocateTo: undefined })

  assert.equal(readFileSync(path, 'utf8'), 'authtoken: T\n')
  assert.ok(!existsSync(`${path}.v1.bak`))
})

test('an upgrade can move the file to its default place', (t) => {
  const path = place(t, 'authtoken: T\n')
  const target = join(path, '..', '..', 'home', 'adit.yml')

  const upgrade = upgradeConfig(path, { to: 3, dryRun: false, relocateTo: target })

  assert.equal(readFileSync(target, 'utf8'), upgrade.content)
  assert.ok(!existsSync(path))
})

test('a newer version is never taken back', (t) => {
  const path = place(t, 'version: "3"\n')

  assert.throws(
    () => upgradeConfig(path, { to: 2, dryRun: false, relocateTo: undefined }),
    /cannot be taken back/,
  )
})
