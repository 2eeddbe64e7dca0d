import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { loadConfig } from './load.ts'

function writeFiles(contents: string[]): string[] {
  const dir = createTempDir()
  return contents.map((content, index) => {
    const path = join(dir, `${index}.yml`)
    writeFileSync(path, content, { mode: 0o600 })
    return path
  })
}

test('later files win key by key, maps are merged and lists replaced', () => {
  const paths = writeFiles([
    'version: 2\nauthtoken: A\nserver_addr: one:1\nweb_allow_hosts: [a, b]\ntunnels:\n  web: {proto: http, addr: 1, inspect: false}\n  ssh: {proto: tcp, addr: 22}\n',
    'version: 3\nagent:\n  connect_url: two:2\n  web_allow_hosts: [c]\ntunnels:\n  web: {addr: 2}\n',
  ])

  const config = loadConfig(paths, {})

  assert.equal(config.agent.authtoken, 'A')
  assert.equal(config.agent.connect_url, 'two:2')
  assert.deepEqual(config.agent.web_allow_hosts, ['c'])
  assert.deepEqual(config.tunnels.get('web'), { proto: 'http', addr: '2', inspect: false })
  assert.equal(config.tunnels.get('ssh')?.addr, '22')
  assert.deepEqual(config.files, paths)
})

test('several server addresses are a list or a comma-separated string', () => {
  const [list = '', text = ''] = writeFiles([
    'version: 3\nagent:\n  connect_url: [one:1, two:2]\n',
    'version: 2\nserver_addr: one:1, two:2\n',
  ])

  assert.equal(loadConfig([list], {}).agent.connect_url, 'one:1,two:2')
  assert.equal(loadConfig([text], {}).agent.connect_url, 'one:1, two:2')
  assert.equal(loadConfig([], { ADIT_CONNECT_URL: 'a:1,b:2' }).agent.connect_url, 'a:1,b:2')
})

test('environment variables win over files', () => {
  const paths = writeFiles(['version: 2\nauthtoken: file\nlog_level: warn\n'])

  const config = loadConfig(paths, {
    ADIT_AUTHTOKEN: 'env',
    ADIT_WEB_ALLOW_HOSTS: 'a, b',
    ADIT_ROOT_CAS: 'ca.pem',
  })

  assert.equal(config.agent.authtoken, 'env')
  assert.equal(config.agent.log_level, 'warn')
  assert.deepEqual(config.agent.web_allow_hosts, ['a', 'b'])
  assert.equal(config.agent.connect_cas, 'ca.pem')
})

test('an invalid environment variable is rejected by name', () => {
  assert.throws(
    () => loadConfig([], { HOME: '/nonexistent', ADIT_UPDATE_CHECK: 'perhaps' }),
    /ADIT_UPDATE_CHECK/,
  )
})

test('the default file is optional, a named one must exist', () => {
  assert.deepEqual(loadConfig([], { HOME: '/nonexistent' }).files, [])
  assert.throws(() => loadConfig(['/nonexistent/adit.yml'], {}), /cannot read .*: no such file/)
})

test('a file with a token that is readable by others gives a warning', () => {
  const [path] = writeFiles(['version: 2\nauthtoken: A\n'])
  chmodSync(path!, 0o644)

  assert.match(loadConfig([path!], {}).warnings.join(), /chmod 600/)
})
