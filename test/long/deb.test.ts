// The Debian package in a base system: installed, started as its units say, used, removed and purged.
import assert from 'node:assert/strict'
import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { VERSION } from '../../src/base/version.ts'
import { subcommands } from '../../src/server/commands/subcommands.ts'
import { createDebianRoot, type DebianRoot } from '../support/debian-root.ts'
import { eventually } from '../support/eventually.ts'
import { startHttp } from '../support/local-server.ts'
import { reasonToSkip } from '../support/required-programs.ts'
import { createTestCa } from '../support/test-ca.ts'

const root = join(import.meta.dirname, '..', '..')
const deb = join(root, 'dist', `adit_${VERSION}_amd64.deb`)
/** What the package manager itself writes, and the backups of the user database. */
const MANAGER_FILES =
  /^\.\/(?:proc|var\/(?:lib\/dpkg|log|cache)|etc\/(?:passwd|group|shadow|gshadow|subuid|subgid)-)/

const skip = reasonToSkip('debootstrap', 'unshare', 'dpkg-deb', 'systemd-analyze')

function build(flags: readonly string[], environment: Readonly<Record<string, string>> = {}): void {
  execFileSync(process.execPath, [join(root, 'scripts', 'build-deb.ts'), '--fast', ...flags], {
    stdio: 'inherit',
    env: { ...process.env, ...environment },
  })
}

before(() => {
  if (skip) return
  build(process.env.DEB_NO_BUILD === undefined ? [] : ['--no-build'])
})

test('packages with the same SOURCE_DATE_EPOCH are the same, byte for byte (P60)', { skip }, () => {
  const [first, second] = [1, 2].map(() => {
    build(['--no-build'], { SOURCE_DATE_EPOCH: '1700000000' })
    return readFileSync(deb)
  })

  assert.ok(first!.equals(second!))
})

function installPackage(t: TestContext): DebianRoot {
  const system = createDebianRoot(t)
  copyFileSync(deb, join(system.directory, 'adit.deb'))
  system.run('apt-get', 'update', '-qq')
  system.run('apt-get', 'install', '-y', '-qq', '--no-install-recommends', 'libatomic1')
  return system
}

/** The files of the system with owner and mode, without those of the package manager. */
const listFiles = (system: DebianRoot) =>
  execFileSync('find', ['.', '-xdev', '-printf', '%p %U:%G %m\n'], {
    cwd: system.directory,
    encoding: 'utf8',
  })
    .split('\n')
    .filter((line) => line !== '' && !MANAGER_FILES.test(line))
    .sort()

/** Starts a unit as systemd does: its user, its environment and its command line. */
function startUnit(t: TestContext, system: DebianRoot, unit: string) {
  const text = readFileSync(join(system.directory, 'usr/lib/systemd/system', unit), 'utf8')
  const read = (key: string) =>
    [...text.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value]) => value!)
  const environment = [
    ...read('Environment'),
    ...read('EnvironmentFile').flatMap((file) =>
      readFileSync(join(system.directory, file), 'utf8')
        .split('\n')
        .filter((line) => /^\w+=/.test(line)),
    ),
  ]
  const [command] = read('ExecStart')
  const [user] = read('User')
  const [program, ...args] = system.wrap(['/usr/bin/env', ...environment, ...command!.split(' ')], user)
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = once(child, 'exit')
  t.after(() => child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
    })
  return {
    output: () => output,
    async stop() {
      child.kill('SIGTERM')
      assert.deepEqual(await exited, [0, null], output)
    },
  }
}

test('the Debian package installs, serves, and leaves nothing when it is purged', { skip }, async (t) => {
  const system = installPackage(t)
  const file = (path: string) => join(system.directory, path)
  const before = listFiles(system)

  const installed = system.run('dpkg', '--install', '/adit.deb')
  assert.match(installed, /edit \/etc\/adit\/adit\.env, then run: systemctl enable --now adit/)
  assert.equal(system.run('adit', 'version'), `adit version ${VERSION}\n`)
  for (const [shell, path] of [
    ['bash', 'usr/share/bash-completion/completions/adit'],
    ['fish', 'usr/share/fish/vendor_completions.d/adit.fish'],
  ] as const)
    assert.equal(readFileSync(file(path), 'utf8'), system.run('adit', 'completion', shell), shell)
  const page = gunzipSync(readFileSync(file('usr/share/man/man1/adit.1.gz'))).toString()
  const man = page.replaceAll('\\-', '-')
  for (const { words } of subcommands)
    assert.ok(man.includes(`adit server ${words.join(' ')}`), words.join(' '))
  assert.equal(system.run('stat', '-c', '%U:%G %a', '/etc/adit/adit.env'), 'root:adit 640\n')
  assert.equal(system.run('stat', '-c', '%U:%G %a', '/etc/adit/agent.yml'), 'adit:adit 600\n')
  assert.equal(system.run('stat', '-c', '%U:%G %a', '/var/lib/adit'), 'adit:adit 700\n')

  const addresses = ['HTTP', 'HTTPS', 'AGENT', 'SSH', 'API', 'DNS'].map(
    (name) => `ADIT_${name}_ADDR=127.0.0.1:0\n`,
  )
  writeFileSync(file('etc/adit/adit.env'), `ADIT_DOMAIN=adit.localhost\n${addresses.join('')}`)
  const server = startUnit(t, system, 'adit.service')
  await eventually(() => server.output().includes('Adit is ready.'), server.output, 120_000)
  const credentials = JSON.parse(readFileSync(file('var/lib/adit/credentials.json'), 'utf8'))
  assert.match(await (await fetch(`${credentials.api_url}/dashboard/`)).text(), /<script type="module"/)

  const local = await startHttp(t, (_request, response) => response.end('hello from the local service'))
  writeFileSync(
    file('etc/adit/agent.yml'),
    `version: 3
agent:
  connect_url: ${credentials.agent_addr}
  authtoken: ${credentials.authtoken}
  connect_cas: /var/lib/adit/ca.pem
  web_addr: false
tunnels:
  web: {proto: http, addr: ${local}, url: 'http://web.adit.localhost'}
`,
  )
  const agent = startUnit(t, system, 'adit-agent.service')
  await eventually(() => agent.output().includes('started tunnel'), agent.output, 120_000)
  const { port } = new URL(credentials.http_url)
  const curl = ['-sS', '-H', 'Host: web.adit.localhost', `http://127.0.0.1:${port}`]
  assert.equal((await promisify(execFile)('curl', curl)).stdout, 'hello from the local service')
  await agent.stop()
  await server.stop()

  system.run('dpkg', '--install', '/adit.deb')
  assert.match(
    readFileSync(file('etc/adit/agent.yml'), 'utf8'),
    /web\.adit\.localhost/,
    'an upgrade keeps it',
  )
  assert.equal(statSync(file('etc/adit/agent.yml')).mode & 0o777, 0o600)
  system.run('dpkg', '--remove', 'adit')
  assert.ok(!existsSync(file('usr/bin/adit')))
  assert.ok(existsSync(file('etc/adit/adit.env')) && existsSync(file('var/lib/adit/credentials.json')))

  system.run('dpkg', '--purge', 'adit')
  assert.deepEqual(listFiles(system), before)
  assert.doesNotMatch(readFileSync(file('etc/passwd'), 'utf8'), /adit/)
  assert.doesNotMatch(readFileSync(file('etc/group'), 'utf8'), /adit/)
})

/** Stands in for systemd, which needs a machine of its own: runs the command of the unit as its user. */
const SYSTEMCTL = `#!/bin/sh
case "$1" in
  is-active) exit 3 ;;
  restart)
    unit=/usr/lib/systemd/system/adit.service
    set -a; . "$(sed -n 's/^EnvironmentFile=//p' "$unit")"; set +a
    setpriv --reuid=adit --regid=adit --clear-groups $(sed -n 's/^ExecStart=//p' "$unit") < /dev/null > /var/log/adit.log 2>&1 &
    echo $! > /run/adit.pid ;;
esac
`

test('adit server setup uses the unit of the package, and the server runs as its user', {
  skip,
}, async (t) => {
  let pid = 0
  // Before the file system of the process is unmounted: hooks run in the order of their registration.
  t.after(() => pid > 0 && process.kill(pid, 'SIGKILL'))
  const system = installPackage(t)
  const file = (path: string) => join(system.directory, path)
  system.run('dpkg', '--install', '/adit.deb')
  writeFileSync(file('usr/bin/systemctl'), SYSTEMCTL, { mode: 0o755 })
  const ca = await createTestCa()
  const { cert, key } = await ca.issue('adit.test', '*.adit.test')
  writeFileSync(file('etc/adit/tls.pem'), cert)
  writeFileSync(file('etc/adit/tls.key'), key, { mode: 0o600 })
  system.run('chown', 'adit', '/etc/adit/tls.key')
  const listeners = ['api', 'http', 'https', 'agent'].map((name) => `--${name}-addr=127.0.0.1:0`)
  const off = ['ssh', 'dns'].map((name) => `--${name}-addr=false`)
  const names = ['--domain=adit.test', '--public-ips=127.0.0.1', '--dns-resolver=127.0.0.1:1']
  const files = ['--tls-cert=/etc/adit/tls.pem', '--tls-key=/etc/adit/tls.key']

  const output = system.run('adit', 'server', 'setup', '--yes', ...names, ...listeners, ...off, ...files)
  pid = Number(readFileSync(file('run/adit.pid'), 'utf8'))

  assert.match(output, /Using the unit adit\.service of the installed package/)
  assert.match(output, /Checking the server from outside\n[\s\S]*Adit is ready\./)
  assert.match(output, /https:\/\/dashboard\.adit\.test:\d+\/dashboard\/#\/set-password\?token=/)
  assert.ok(!existsSync(file('etc/systemd/system/adit.service')))
  assert.equal(system.run('stat', '-c', '%U', '/var/lib/adit/credentials.json'), 'adit\n')
  assert.equal(system.run('stat', '-c', '%U:%G %a', '/etc/adit/adit.env'), 'root:adit 640\n')
})

test('systemd accepts both units of the package', { skip }, (t) => {
  const system = createDebianRoot(t)
  execFileSync('dpkg-deb', ['--extract', deb, system.directory])

  for (const unit of ['adit.service', 'adit-agent.service'])
    execFileSync(
      'systemd-analyze',
      [
        'verify',
        `--root=${system.directory}`,
        '--man=no',
        '--recursive-errors=no',
        `/usr/lib/systemd/system/${unit}`,
      ],
      {
        stdio: 'pipe',
      },
    )
})
