import assert from 'node:assert/strict'
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { connect } from '../../src/agent/index.ts'
import { ADIT } from '../support/adit-program.ts'
import { cleanEnv } from '../support/agent-process.ts'
import { startHttp } from '../support/local-server.ts'
import { createMountNamespace, type MountNamespace } from '../support/mount-namespace.ts'
import { startPlatform, type TestPlatform } from '../support/platform.ts'
import { run } from '../support/run.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { open } from './openers.ts'

/** A Debian whose store is empty, and gets only the first of its own roots: installing all takes long. */
async function startDebian(t: TestContext) {
  const home = createTempDir()
  const conf = join(home, 'ca-certificates.conf')
  const [first] = /^[^#!].*\n/m.exec(readFileSync('/etc/ca-certificates.conf', 'utf8'))!
  writeFileSync(conf, first)
  const system = await createMountNamespace(t, {
    files: { '/etc/ca-certificates.conf': conf },
    emptyDirectories: ['/usr/local/share/ca-certificates', '/etc/ssl/certs'],
  })
  return system && { system, home }
}

async function startPage(t: TestContext, platform: TestPlatform): Promise<string> {
  const port = await startHttp(t, (_request, response) => response.end('trusted page'))
  const agent = await connect({ env: cleanEnv(createTempDir(), { ADIT_DATA_DIR: platform.dataDir }) })
  t.after(() => agent.close())
  return (await agent.forward(port)).url
}

function trust(
  { system, home }: { system: MountNamespace; home: string },
  platform: TestPlatform,
  ...flags: string[]
) {
  const command = [ADIT, 'server', 'trust', ...flags, '--data-dir', platform.dataDir]
  return run(system.wrap(command), { PATH: process.env.PATH ?? '', HOME: home })
}

test('adit server trust makes curl and Chromium open the https URL, and --uninstall undoes it', async (t) => {
  const there = await startDebian(t)
  if (there === undefined) return t.skip('mount namespaces are not allowed here')
  const platform = await startPlatform(t)
  const url = await startPage(t, platform)
  assert.notEqual((await open('curl', url, there)).code, 0)
  assert.doesNotMatch((await open('chromium', url, there)).stdout, /trusted page/)

  const installed = await trust(there, platform)

  assert.equal(installed.code, 0, installed.stderr)
  assert.match(
    installed.stdout,
    /Trusted by: system store \(Debian, Ubuntu\)\nTrusted by: Chromium and Chrome/,
  )
  assert.match((await open('curl', url, there)).stdout, /trusted page/)
  assert.match((await open('chromium', url, there)).stdout, /trusted page/)
  assert.ok(existsSync(join(platform.dataDir, 'ca.pem.trusted')))
  assert.equal((await trust(there, platform)).code, 0, 'a second time')

  const removed = await trust(there, platform, '--uninstall')

  assert.equal(removed.code, 0, removed.stderr)
  assert.match(
    removed.stdout,
    /Removed from: system store \(Debian, Ubuntu\)\nRemoved from: Chromium and Chrome/,
  )
  assert.notEqual((await open('curl', url, there)).code, 0)
  assert.doesNotMatch((await open('chromium', url, there)).stdout, /trusted page/)
  assert.ok(!existsSync(join(platform.dataDir, 'ca.pem.trusted')))
  assert.match((await trust(there, platform, '--uninstall')).stdout, /Not installed in: Chromium/)
})

test('the script of --print does the same, also for a profile of Firefox', async (t) => {
  const there = await startDebian(t)
  if (there === undefined) return t.skip('mount namespaces are not allowed here')
  const platform = await startPlatform(t)
  const url = await startPage(t, platform)
  const profile = join(there.home, '.mozilla', 'firefox', 'x1.default')
  // update-ca-certificates is among the programs of administrators.
  const env = { PATH: `${process.env.PATH}:/usr/sbin`, HOME: there.home }
  mkdirSync(profile, { recursive: true })
  await run(['certutil', '-N', '-d', `sql:${profile}`, '--empty-password'], env)

  const { stdout: script } = await trust(there, platform, '--print')
  const scriptFile = join(there.home, 'trust.sh')
  writeFileSync(scriptFile, script)
  const executed = await run(there.system.wrap(['sh', '-e', scriptFile]), env)

  assert.equal(executed.code, 0, executed.stderr)
  assert.match((await open('curl', url, there)).stdout, /trusted page/)
  const { stdout: roots } = await run(['certutil', '-L', '-d', `sql:${profile}`], env)
  assert.match(roots, /^Adit private root [0-9a-f]{8} +C,,/m)
})

test('without a root, or with a file that is none, it says what to do and changes nothing', async (t) => {
  const home = createTempDir()
  const platform = await startPlatform(t)
  const adit = (...args: string[]) =>
    run([ADIT, 'server', 'trust', ...args], {
      PATH: process.env.PATH ?? '',
      HOME: home,
    })
  const other = join(home, 'other.pem')
  writeFileSync(other, 'not a certificate')
  copyFileSync(platform.credentials.ca_file, join(home, 'root.pem'))

  const missing = await adit()
  const wrong = await adit(other)
  const plan = await adit(join(home, 'root.pem'), '--print', '--uninstall')

  assert.equal(missing.code, 1)
  assert.match(missing.stderr, /^ERROR: {2}There is no private root in \S+\. Start the server once, or set/)
  assert.equal(wrong.stderr, `ERROR:  ${other} holds no certificate in PEM.\n`)
  assert.match(plan.stdout, /^# Removes Adit private root [0-9a-f]{8} \(/)
  assert.deepEqual([plan.code, plan.stderr], [0, ''])
})
