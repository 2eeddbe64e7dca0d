import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { ADIT } from '../support/adit-program.ts'
import { eventually } from '../support/eventually.ts'
import { findFreePorts } from '../support/free-ports.ts'
import { sendHttps } from '../support/https-client.ts'
import { startPebble } from '../support/pebble.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { openTerminal, type Terminal } from '../support/terminal.ts'
import { createTestCa } from '../support/test-ca.ts'

/** Stands in for systemd: it runs the command of the unit with the settings of its file. */
const SYSTEMCTL = `#!/bin/sh
echo "$@" >> "$TEST_DIR/systemctl.log"
case "$1" in
  is-active) exit 3 ;;
  restart)
    set -a; . "$ADIT_CONFIG_DIR/adit.env"; set +a
    command=$(sed -n 's/^ExecStart=//p' "$ADIT_UNIT_DIR/adit.service")
    $command < /dev/null > "$TEST_DIR/journal" 2>&1 &
    echo $! > "$TEST_DIR/pid" ;;
esac
`

/** A machine with its own /etc, a service manager and the user of the service. */
async function createMachine(t: TestContext) {
  let dir = ''
  // Before the directory with the process id is removed: hooks run in the order of their registration.
  t.after(async () => {
    const pid = Number(await readFile(join(dir, 'pid'), 'utf8').catch(() => '0'))
    if (pid > 0) process.kill(pid, 'SIGKILL')
  })
  dir = createTempDir()
  const programs = { systemctl: SYSTEMCTL, getent: '#!/bin/sh\necho adit:x:0:0\n' }
  await mkdir(join(dir, 'bin'))
  await mkdir(join(dir, 'units'))
  for (const [name, script] of Object.entries(programs)) {
    await writeFile(join(dir, 'bin', name), script)
    await chmod(join(dir, 'bin', name), 0o755)
  }
  const env = {
    PATH: `${join(dir, 'bin')}:${process.env.PATH}`,
    TEST_DIR: dir,
    ADIT_CONFIG_DIR: join(dir, 'etc'),
    ADIT_UNIT_DIR: join(dir, 'units'),
  }
  // Without root, a user name space lets the command see itself as root.
  const asRoot = process.getuid?.() === 0 ? [] : ['unshare', '--map-root-user']
  return {
    dir,
    /** Runs the command in a terminal; afterwards the shell says how it ended. */
    openTerminal(...args: string[]) {
      const words = [...asRoot, ADIT, 'server', ...args].map((word) => `'${word}'`)
      const script = `${words.join(' ')}; echo "exit code $?"; exec sleep 1000`
      return openTerminal(t, { script, columns: 160, rows: 100, env })
    },
    async run(...args: string[]) {
      const [program, ...rest] = [...asRoot, ADIT, 'server', ...args]
      const child = spawn(program!, rest, { env, stdio: ['ignore', 'pipe', 'pipe'] })
      const [output, errors, [code]] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        once(child, 'exit') as Promise<[number]>,
      ])
      return { code, output, errors }
    },
  }
}

test('a set-up starts the service, obtains the certificate and prints a link that works over it', async (t) => {
  const { dir, run } = await createMachine(t)
  const [dnsPort, httpPort] = [await findFreePorts(1), await findFreePorts(1)]
  const [httpsPort, apiPort] = [await findFreePorts(1), await findFreePorts(1)]
  const pebble = await startPebble(t, { dnsPort, httpPort })
  await writeFile(join(dir, 'acme-ca.pem'), pebble.ca)
  const flags = {
    domain: 'adit.test',
    'acme-email': 'operator@adit.test',
    'public-ips': '127.0.0.1',
    'data-dir': join(dir, 'data'),
    'api-addr': `127.0.0.1:${apiPort}`,
    'http-addr': `127.0.0.1:${httpPort}`,
    'https-addr': `127.0.0.1:${httpsPort}`,
    'agent-addr': '127.0.0.1:0',
    'ssh-addr': 'false',
    'dns-addr': `127.0.0.1:${dnsPort}`,
    'dns-resolver': `127.0.0.1:${dnsPort}`,
    'acme-directory': pebble.directory,
    'acme-ca': join(dir, 'acme-ca.pem'),
    'outbound-allow': 'localhost,127.0.0.1',
  }

  const { code, output, errors } = await run(
    'setup',
    '--yes',
    ...Object.entries(flags).map(([name, value]) => `--${name}=${value}`),
  )

  assert.equal(code, 0, `${output}${errors}`)
  assert.match(output, /FAILED {2}domain +adit\.test/)
  assert.match(output, /ok {6}clock/)
  const [url = ''] = /https:\/\/dashboard\.adit\.test:\d+\/dashboard\/#\S+/.exec(output) ?? []
  assert.equal(new URL(url).port, String(httpsPort))
  assert.equal((await stat(join(dir, 'etc', 'adit.env'))).mode & 0o777, 0o640)
  assert.match(await readFile(join(dir, 'systemctl.log'), 'utf8'), /^enable adit\.service$/m)

  // From another machine, with the root of the certificate authority alone.
  const signIn = await sendHttps(httpsPort, await pebble.root(), {
    host: 'dashboard.adit.test',
    path: '/dashboard/api/session',
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ link: url.split('token=')[1], password: 'a password of my own' }),
  })
  assert.equal(signIn.status, 200, signIn.error)
  assert.equal(JSON.parse(signIn.text).user.email, 'admin@adit.test')
  const journal = await readFile(join(dir, 'journal'), 'utf8')
  assert.match(journal, /Adit is ready/)
  for (const secret of ['token=', 'Password']) assert.equal(journal.includes(secret), false, secret)

  // Later commands find the service by its settings file.
  const certs = await run('certs')
  assert.match(certs.output, /^adit\.test +valid/m)
  const link = await run('admin-link')
  assert.match(link.output, /https:\/\/dashboard\.adit\.test:\d+\/dashboard\/#\/set-password\?token=/)
})

test('a set-up with a certificate of its own asks for no authority, and checks the server at its end', async (t) => {
  const { dir, run } = await createMachine(t)
  const ca = await createTestCa()
  const { cert, key } = await ca.issue('adit.test', '*.adit.test')
  await writeFile(join(dir, 'tls.pem'), cert)
  await writeFile(join(dir, 'tls.key'), key)
  const httpsPort = await findFreePorts(1)
  const flags = {
    domain: 'adit.test',
    'public-ips': '127.0.0.1',
    'data-dir': join(dir, 'data'),
    'api-addr': '127.0.0.1:0',
    'http-addr': '127.0.0.1:0',
    'https-addr': `127.0.0.1:${httpsPort}`,
    'agent-addr': '127.0.0.1:0',
    'ssh-addr': 'false',
    'dns-addr': 'false',
    'dns-resolver': '127.0.0.1:1',
    'tls-cert': join(dir, 'tls.pem'),
  }
  const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`)

  const unreadable = await run('setup', '--yes', ...args, `--tls-key=${join(dir, 'missing.key')}`)
  const { code, output, errors } = await run('setup', '--yes', ...args, `--tls-key=${join(dir, 'tls.key')}`)
  const certs = await run('certs')

  assert.equal(unreadable.code, 1)
  assert.match(unreadable.output, /FAILED {2}certificate files +--tls-key: \S+missing\.key cannot be read/)
  assert.match(unreadable.errors, /cannot start without its certificate; nothing was changed/)
  assert.equal(code, 0, `${output}${errors}`)
  assert.match(output, /Serving the certificate in \S+tls\.pem/)
  const [, checks = ''] = output.split('Checking the server from outside')
  assert.match(checks, new RegExp(`ok {6}https port +answers at 127\\.0\\.0\\.1:${httpsPort}`))
  assert.match(checks, /WARN {4}certificate files +for adit\.test and \*\.adit\.test/)
  assert.match(checks, /FAILED {2}certificate +browsers will not trust/)
  const page = await sendHttps(httpsPort, ca.caPem, { host: 'dashboard.adit.test', path: '/dashboard/' })
  assert.equal(page.status, 200, page.error)
  assert.equal(page.headers['strict-transport-security'], 'max-age=31536000')
  assert.match(certs.output, /^adit\.test +file +Read from \S+tls\.pem, for adit\.test and \*\.adit\.test/m)
})

/** Waits for a question and types the answer. */
async function answer(terminal: Terminal, question: RegExp, text: string): Promise<void> {
  await eventually(() => question.test(terminal.text().trimEnd()), terminal.text)
  terminal.press(text, 'Enter')
}

test('on a terminal the set-up asks, asks again after a mistake, and asks whether to go on', async (t) => {
  const machine = await createMachine(t)
  const { dir } = machine
  const ca = await createTestCa()
  const { cert, key } = await ca.issue('adit.test', '*.adit.test')
  await writeFile(join(dir, 'tls.pem'), cert)
  await writeFile(join(dir, 'tls.key'), key)
  const listeners = ['api', 'http', 'https', 'agent'].map((name) => `--${name}-addr=127.0.0.1:0`)
  const off = ['ssh', 'dns'].map((name) => `--${name}-addr=false`)
  const flags = [
    ...listeners,
    ...off,
    ...[`--data-dir=${join(dir, 'data')}`, '--dns-resolver=127.0.0.1:1'],
    ...[`--tls-cert=${join(dir, 'tls.pem')}`, `--tls-key=${join(dir, 'tls.key')}`],
  ]
  const terminal = machine.openTerminal('setup', ...flags)

  const domain = String.raw`Domain for tunnels \(such as tunnels\.example\.com\): *$`
  await answer(terminal, new RegExp(domain), '')
  await answer(terminal, new RegExp(`It is required[^\\n]*\\n${domain}`), 'a..b')
  await answer(terminal, new RegExp(`empty label[^\\n]*\\n${domain}`), 'adit.localhost')
  await answer(terminal, new RegExp(`exists only on this machine[^\\n]*\\n${domain}`), 'https://adit.test/')
  await answer(terminal, /Public addresses of this machine[^\n]*: *$/, '127.0.0.1')
  await answer(terminal, /Database: PostgreSQL URL, or empty for the embedded one: *$/, '')
  await answer(
    terminal,
    /Continue\? Certificates will be issued once the records are right \(y\/N\): *$/,
    'y',
  )
  await eventually(() => terminal.text().includes('exit code 0'), terminal.text)

  assert.match(terminal.text(), /Checking the server from outside\n[\s\S]*Adit is ready\./)
  assert.match(terminal.text(), /https:\/\/dashboard\.adit\.test:\d+\/dashboard\/#\/set-password\?token=/)
  assert.match(await readFile(join(dir, 'etc', 'adit.env'), 'utf8'), /^ADIT_DOMAIN=adit\.test$/m)
})

test('a set-up without systemd changes nothing and says how to go on', async (t) => {
  const { dir, run } = await createMachine(t)
  await writeFile(join(dir, 'bin', 'systemctl'), '#!/bin/sh\necho offline\nexit 1\n')

  const { code, errors } = await run('setup', ...ANSWERS, '--public-ips', '203.0.113.10')

  assert.equal(code, 1)
  assert.match(errors, /This machine has no systemd[^\n]*nothing was changed\. adit server setup --print/)
  await assert.rejects(stat(join(dir, 'etc')), { code: 'ENOENT' })
})

test('Ctrl-C at a question changes nothing', async (t) => {
  const machine = await createMachine(t)
  const cancelled = machine.openTerminal('setup')
  await eventually(() => cancelled.text().includes('Domain for tunnels'), cancelled.text)
  cancelled.press('C-c')
  await eventually(() => cancelled.text().includes('exit code 1'), cancelled.text)

  assert.match(cancelled.text(), /ERROR: {2}Setup was cancelled; nothing was changed\./)
  await assert.rejects(stat(join(machine.dir, 'etc')), { code: 'ENOENT' })
})

const ANSWERS = ['--yes', '--domain', 'tunnels.example.com', '--acme-email', 'you@example.com']

test('a set-up changes nothing while a port is in use', async (t) => {
  const { dir, run } = await createMachine(t)
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as { port: number }
  const free = ['http', 'https', 'ssh', 'dns', 'api'].flatMap((name) => [`--${name}-addr`, '127.0.0.1:0'])
  const offline = ['--acme-directory', 'http://127.0.0.1:1/', '--dns-resolver', '127.0.0.1:1']

  const { code, output, errors } = await run(
    'setup',
    ...ANSWERS,
    ...['--public-ips', '203.0.113.10', '--agent-addr', `127.0.0.1:${port}`],
    ...free,
    ...offline,
  )

  assert.equal(code, 1)
  assert.match(output, new RegExp(`FAILED {2}agent port is free +127\\.0\\.0\\.1:${port} is in use`))
  assert.match(
    errors,
    /^ERROR: {2}The server cannot start while its ports are in use; nothing was changed\.$/m,
  )
  await assert.rejects(stat(join(dir, 'etc', 'adit.env')), { code: 'ENOENT' })
})

test('a set-up changes nothing while the database rejects it', async (t) => {
  const { dir, run } = await createMachine(t)
  const { url } = await createTestDatabase(t)
  const missing = new URL(url)
  missing.pathname = '/missing'
  const listeners = ['http', 'https', 'agent', 'ssh', 'dns', 'api']
  const free = listeners.flatMap((name) => [`--${name}-addr`, '127.0.0.1:0'])
  const offline = ['--acme-directory', 'http://127.0.0.1:1/', '--dns-resolver', '127.0.0.1:1']
  const flags = [...ANSWERS.slice(1), '--public-ips', '203.0.113.10', ...free, ...offline]

  const rejected = await run('setup', '--yes', ...flags, '--database-url', missing.href)
  const accepted = await run('setup', ...flags, '--database-url', url)

  assert.equal(rejected.code, 1)
  assert.match(rejected.output, /FAILED {2}database +database "missing" does not exist/)
  assert.match(rejected.errors, /cannot start without its database; nothing was changed/)
  assert.match(accepted.output, /ok {6}database +accepts this server\nok {6}clock of the database right/)
  assert.match(accepted.errors, /Fix what failed and run setup again; nothing was changed/)
  await assert.rejects(stat(join(dir, 'etc', 'adit.env')), { code: 'ENOENT' })
})

test('a set-up names what is missing, rejects a local domain, and shows its files with --print', async (t) => {
  const { dir, run } = await createMachine(t)

  const missing = await run('setup', '--yes')
  const local = await run('setup', '--yes', '--domain', 'adit.localhost')
  const email = await run('setup', '--yes', '--domain', 'tunnels.example.com', '--acme-email', 'you')
  const printed = await run('setup', ...ANSWERS, '--print', '--public-ips', '203.0.113.10')

  assert.match(
    missing.errors,
    /Domain for tunnels: missing\. Write: adit server setup --domain tunnels\.example\.com/,
  )
  assert.match(local.errors, /adit\.localhost exists only on this machine/)
  assert.match(email.errors, /--acme-email: "you" is not an email address/)
  assert.equal(printed.code, 0)
  assert.match(printed.output, /^ADIT_DOMAIN=tunnels\.example\.com$/m)
  assert.match(printed.output, /^ADIT_HTTPS_ADDR=0\.0\.0\.0:443$/m)
  assert.match(printed.output, /^ExecStart=.*adit.* server$/m)
  await assert.rejects(stat(join(dir, 'etc')), { code: 'ENOENT' })
})

test('the printed unit hardens the service as the one of a clone does', async () => {
  const { formatUnit } = await import('../../src/server/setup/files.ts')
  const unit = formatUnit({
    settingsFile: '/etc/adit/adit.env',
    dataDir: '/var/lib/adit',
    command: ['/opt/adit/bin/adit'],
  })
  const deployed = await readFile(join(import.meta.dirname, '..', '..', 'deploy', 'adit.service'), 'utf8')
  const hardening = (text: string) =>
    text.slice(text.indexOf('# Ports below 1024'), text.indexOf('[Install]'))

  assert.equal(hardening(unit), hardening(deployed))
})
