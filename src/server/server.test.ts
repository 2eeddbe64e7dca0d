import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, open, readdir, readFile, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, type TestContext, test } from 'node:test'
import { ADIT } from '../../test/support/adit-program.ts'
import { startCommandHost } from '../../test/support/command-host.ts'
import { ANY_PORTS, findFreePorts } from '../../test/support/free-ports.ts'
import { createTempDir } from '../../test/support/temp-dir.ts'
import type { CredentialsFile } from './credentials-file.ts'

interface AditProcess {
  readonly child: ChildProcess
  readonly output: () => string
  readonly errors: () => string
}

/** Runs something after a test, or after all of them. */
type Cleanup = { after(cleanUp: () => unknown): void }

function runAdit(t: Cleanup, args: string[], environment: Record<string, string> = {}): AditProcess {
  return run(t, ADIT, args, environment)
}

/** The same, with a terminal as its output. */
function runInTerminal(t: TestContext, args: string[]): AditProcess {
  return run(t, 'script', ['--quiet', '--return', '--command', [ADIT, ...args].join(' '), '/dev/null'], {})
}

function run(t: Cleanup, program: string, args: string[], environment: Record<string, string>): AditProcess {
  const child = spawn(program, args, { env: { PATH: process.env.PATH, ...environment } as NodeJS.ProcessEnv })
  const output: Buffer[] = []
  const errors: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => errors.push(chunk))
  t.after(() => child.kill('SIGKILL'))
  return {
    child,
    output: () => Buffer.concat(output).toString(),
    errors: () => Buffer.concat(errors).toString(),
  }
}

/** Waits for the last line that a started server prints: a terminal passes the text on in pieces. */
async function waitUntilReady(run: AditProcess, dataDir: string): Promise<CredentialsFile> {
  while (!run.output().includes('adit http 3000')) {
    if (run.child.exitCode !== null) assert.fail(`the server ended: ${run.errors()}`)
    await Promise.race([once(run.child.stdout!, 'data'), once(run.child, 'exit')])
  }
  return JSON.parse(await readFile(join(dataDir, 'credentials.json'), 'utf8')) as CredentialsFile
}

async function stopWith(run: AditProcess, signal: NodeJS.Signals): Promise<number | null> {
  const exit = once(run.child, 'exit')
  run.child.kill(signal)
  const [code] = (await exit) as [number | null]
  return code
}

function passwordIn(run: AditProcess): string {
  return /Password +(\S+)/.exec(run.output())?.[1] ?? assert.fail('no password was printed')
}

async function signIn({ api_url }: CredentialsFile, email: string, password: string): Promise<number> {
  const response = await fetch(`${api_url}/dashboard/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  })
  return response.status
}

// A running server for the tests that only use it, and a process for commands beside it.
const shared = { dataDir: '', credentials: {} as CredentialsFile }
const host = startCommandHost()
after(() => host.stop())
const cleanUps: (() => unknown)[] = []
before(async () => {
  shared.dataDir = createTempDir()
  const all = { after: (cleanUp: () => unknown) => cleanUps.push(cleanUp) }
  const server = runAdit(all, ['server', '--data-dir', shared.dataDir, ...ANY_PORTS])
  shared.credentials = await waitUntilReady(server, shared.dataDir)
})
after(async () => {
  for (const cleanUp of cleanUps) await cleanUp()
})

/** Runs a subcommand on the data directory of the shared server. */
function command(...words: string[]) {
  return host.run(['server', ...words, '--data-dir', shared.dataDir], { env: {} })
}

test('the first start as a service creates an account and prints where its secrets are, but none of them', async (t) => {
  const dataDir = join(createTempDir(), 'state')

  const first = runAdit(t, ['server', '--data-dir', dataDir, ...ANY_PORTS])
  const credentials = await waitUntilReady(first, dataDir)

  const response = await fetch(`${credentials.api_url}/api_keys`, {
    headers: { authorization: `Bearer ${credentials.api_key}` },
  })
  assert.equal(response.status, 200)
  assert.ok(first.output().includes(join(dataDir, 'credentials.json')))
  assert.equal(first.output().includes(credentials.api_key!), false)
  assert.equal(first.output().includes(credentials.authtoken!), false)
  assert.equal(first.output().includes('Password'), false)
  assert.ok(first.output().includes(`\n  ADIT_DATA_DIR=${dataDir} adit http 3000\n`))
  assert.match(first.output(), /Public HTTP .*\n {2}Public HTTPS .*\n/)
  assert.match(first.output(), /^Browsers warn about the https URL until you run: adit server trust$/m)
  assert.ok(first.output().includes(`${credentials.api_url}/dashboard/`))
  assert.match(first.output(), /^ {2}adit server admin-link --domain adit\.localhost --data-dir /m)
  assert.equal((await stat(join(dataDir, 'credentials.json'))).mode & 0o777, 0o600)
  assert.equal((await stat(join(dataDir, 'master.key'))).mode & 0o777, 0o600)
  assert.equal((await stat(dataDir)).mode & 0o777, 0o700)
  assert.match(await readFile(credentials.ca_file, 'utf8'), /BEGIN CERTIFICATE/)
  assert.equal(await stopWith(first, 'SIGTERM'), 0)

  const second = runAdit(t, ['server', '--data-dir', dataDir, ...ANY_PORTS])
  const later = await waitUntilReady(second, dataDir)
  assert.equal(later.api_key, credentials.api_key)
  assert.equal(second.output().includes(credentials.api_key!), false)
  assert.equal(second.output().includes('Password'), false)
  assert.equal(await stopWith(second, 'SIGINT'), 0)
})

test('the first start in a terminal says in a few lines what to do next, and the password once', async (t) => {
  if (spawnSync('script', ['--version']).status !== 0) return t.skip('util-linux script is not installed')
  const dataDir = join(createTempDir(), 'state')
  const first = runInTerminal(t, ['server', '--data-dir', dataDir, ...ANY_PORTS])
  const credentials = await waitUntilReady(first, dataDir)

  const lines = first.output().trim().split(/\r?\n/)
  assert.ok(lines.length <= 12, first.output())
  assert.match(lines[0]!, /^Adit is ready\. Next, in another terminal/)
  assert.equal(lines[1], `  ADIT_DATA_DIR=${dataDir} adit http 3000`)
  assert.ok(first.output().includes('adit server status'))
  const { stdout } = spawnSync(ADIT, ['server', 'status', '--data-dir', dataDir], { encoding: 'utf8' })
  assert.match(stdout, /^The server is ready\.\n/)
  for (const address of [credentials.api_url, credentials.agent_addr, join(dataDir, 'credentials.json')])
    assert.ok(stdout.includes(address!), stdout)
  const password = passwordIn(first)
  assert.equal(await signIn(credentials, 'admin@adit.localhost', password), 200)
  const files = await Promise.all(
    (await readdir(dataDir))
      .filter((name) => !name.endsWith('.sock'))
      .map((name) => readFile(join(dataDir, name), 'latin1')),
  )
  assert.ok(files.every((content) => !content.includes(password)))
})

test('commands that print secrets refuse to write to the journal and create none', async (t) => {
  const accountsBefore = (await command('account', 'list')).stdout
  const journal = await open(join(createTempDir(), 'journal'), 'w+')
  t.after(() => journal.close())
  const { dev, ino } = await journal.stat()

  for (const words of [
    ['account', 'create', 'team'],
    ['user', 'password', 'admin@adit.localhost'],
  ]) {
    const child = spawn(ADIT, ['server', ...words, '--data-dir', shared.dataDir], {
      env: { PATH: process.env.PATH, JOURNAL_STREAM: `${dev}:${ino}` } as NodeJS.ProcessEnv,
      stdio: ['ignore', journal.fd, 'pipe'],
    })
    const [[code], errors] = await Promise.all([once(child, 'exit'), text(child.stderr!)])
    assert.equal(code, 1)
    assert.match(errors, /would go to the journal/)
  }

  assert.equal((await journal.stat()).size, 0)
  assert.equal((await command('account', 'list')).stdout, accountsBefore)
})

test('a second server on the same data directory does not start, also after a killed one', async (t) => {
  const dataDir = createTempDir()
  const killed = runAdit(t, ['server', '--data-dir', dataDir, ...ANY_PORTS])
  await waitUntilReady(killed, dataDir)
  await stopWith(killed, 'SIGKILL')
  const credentials = await waitUntilReady(
    runAdit(t, ['server', '--data-dir', dataDir, ...ANY_PORTS]),
    dataDir,
  )

  const second = runAdit(t, ['server', '--data-dir', dataDir, ...ANY_PORTS])
  const [code] = (await once(second.child, 'close')) as [number]

  assert.equal(code, 1)
  assert.match(second.errors(), /^ERROR: {2}Another server runs the role api on the data directory .*\n$/)
  assert.deepEqual(JSON.parse(await readFile(join(dataDir, 'credentials.json'), 'utf8')), credentials)
  assert.equal((await fetch(`${credentials.api_url}/readyz`)).status, 200)
})

test('servers with different roles share a data directory', async (t) => {
  const dataDir = createTempDir()
  const flags = ['server', '--data-dir', dataDir, ...ANY_PORTS, '--roles']
  await waitUntilReady(runAdit(t, [...flags, 'api,gateway,jobs']), dataDir)

  await waitUntilReady(runAdit(t, [...flags, 'edge']), dataDir)

  const third = runAdit(t, [...flags, 'dns,edge'])
  assert.equal(((await once(third.child, 'close')) as [number])[0], 1)
  assert.match(third.errors(), /Another server runs the role edge/)
})

test('only /healthz and /readyz respond without a key', async () => {
  const statuses = await Promise.all(
    ['/healthz', '/readyz', '/metrics', '/api_keys'].map(
      async (path) => (await fetch(shared.credentials.api_url + path)).status,
    ),
  )

  assert.deepEqual(statuses, [200, 200, 401, 401])
})

test('the server explains error codes, and the page of a visitor links there', async (t) => {
  const dataDir = createTempDir()
  const api = `127.0.0.1:${await findFreePorts(1)}`
  const flags = [...ANY_PORTS, '--api-addr', api, '--api-url', `http://${api}/`]
  const { http_url } = await waitUntilReady(
    runAdit(t, ['server', ...flags], { ADIT_DATA_DIR: dataDir }),
    dataDir,
  )

  const listener = `http://127.0.0.1:${new URL(http_url!).port}`
  const visited = await fetch(listener, { headers: { accept: 'text/html' } })
  const [, link] = /<a href="([^"]+)">ERR_ADIT_3200<\/a>/.exec(await visited.text()) ?? []
  const explained = await fetch(link!)
  const all = await fetch(`http://${api}/docs/errors`)
  const unknown = await fetch(`http://${api}/docs/errors/ERR_ADIT_1`)

  assert.equal(link, `http://${api}/docs/errors/ERR_ADIT_3200`)
  assert.match(explained.headers.get('content-security-policy')!, /default-src 'none'/)
  assert.match(await explained.text(), /No tunnel or edge serves this name right now\..*Start the agent/s)
  assert.match(await all.text(), /href="\/docs\/errors\/ERR_ADIT_107"/)
  assert.equal(unknown.status, 404)
})

test('a start that fails prints one sentence and exits with 1', async (t) => {
  const dataDir = createTempDir()
  const busy = createServer().listen(0, '127.0.0.1')
  await once(busy, 'listening')
  t.after(() => busy.close())
  const { port } = busy.address() as { port: number }

  for (const [args, sentence] of [
    [['--nonsense'], /"--nonsense" is not a flag/],
    [['--api-addr', `127.0.0.1:${port}`], /is in use by another program/],
    [['--domain', '-bad-'], /--domain/],
  ] as const) {
    const run = runAdit(t, ['server', '--data-dir', dataDir, ...ANY_PORTS.slice(2), ...args])
    const [code] = (await once(run.child, 'exit')) as [number]
    assert.equal(code, 1)
    assert.match(run.errors(), sentence)
    assert.equal(run.errors().trim().split('\n').length, 1, run.errors())
  }
})

test('--help lists the subcommands and every flag', async (t) => {
  const run = runAdit(t, ['server', '--help'])
  const [code] = (await once(run.child, 'exit')) as [number]

  assert.equal(code, 0)
  assert.match(run.output(), /adit server account create NAME/)
  assert.match(run.output(), /ADIT_OUTBOUND_ALLOW/)
})

test('an account created on the command line gets its own keys', async () => {
  const { code, stdout } = await command('account', 'create', 'team')

  assert.equal(code, 0)
  const created = JSON.parse(stdout) as { api_key: string }
  const response = await fetch(`${shared.credentials.api_url}/api_keys`, {
    headers: { authorization: `Bearer ${created.api_key}` },
  })
  const body = (await response.json()) as { keys: unknown[] }
  assert.equal(body.keys.length, 1)
  const withEmail = await command('account', 'create', 'other-team', 'ops@team.example')
  assert.equal((JSON.parse(withEmail.stdout) as { email: string }).email, 'ops@team.example')
  const invalid = await command('account', 'create', 'third-team', 'ops')
  assert.equal(invalid.code, 1)
  assert.match(invalid.stderr, /"ops" is not an email address/)
  const again = await command('account', 'create', 'team')
  assert.equal(again.code, 1)
  assert.match(again.stderr, /An account named team already exists/)
})

test('an account created in a terminal is described, with what to do next', async (t) => {
  if (spawnSync('script', ['--version']).status !== 0) return t.skip('util-linux script is not installed')
  const run = runInTerminal(t, ['server', 'account', 'create', 'people', '--data-dir', shared.dataDir])

  await once(run.child, 'close')

  assert.match(run.output(), /^Created the account people \(ac_\w+\)\. These are shown once:/)
  assert.match(run.output(), /Password {8}\S+\s+API key {9}\S+\s+Authtoken {7}\S+/)
  assert.match(run.output(), /adit config add-authtoken \S+/)
})

test('the operator resets the password of a user while the server runs', async (t) => {
  const dataDir = createTempDir()
  const credentials = await waitUntilReady(
    runAdit(t, ['server', '--data-dir', dataDir, ...ANY_PORTS]),
    dataDir,
  )
  const email = 'admin@adit.localhost'
  const command = (...words: string[]) => host.run(['server', ...words, '--data-dir', dataDir], { env: {} })

  const resetPassword = async () => {
    const { code, stdout, stderr } = await command('user', 'password', email.toUpperCase())
    assert.equal(code, 0, stderr)
    return /new password (\S+)/.exec(stdout)![1]!
  }
  const oldPassword = await resetPassword()
  assert.equal(await signIn(credentials, email, oldPassword), 200)

  const password = await resetPassword()

  assert.equal(await signIn(credentials, email, oldPassword), 401)
  assert.equal(await signIn(credentials, email, password), 200)
  const unknown = await command('user', 'password', 'unknown@example.com')
  assert.equal(unknown.code, 1)
  assert.match(unknown.stderr, /There is no user with the email address unknown@example\.com/)

  const other = JSON.parse((await command('account', 'create', 'team')).stdout)
  assert.equal(await signIn(credentials, other.email, other.password), 200)
  const ambiguous = await command('user', 'password', email)
  assert.equal(ambiguous.code, 1)
  assert.match(ambiguous.stderr, /Several accounts have a user admin@adit\.localhost/)
  const named = await command('user', 'password', email, other.account_id)
  assert.equal(named.code, 0, named.stderr)
  assert.equal(await signIn(credentials, email, other.password), 401)
  assert.equal(await signIn(credentials, email, password), 200)
})

test('a backup of a running server restores into an empty directory, given its master key', async (t) => {
  const dir = createTempDir()
  const [to, file] = [join(dir, 'to'), join(dir, 'backup.db')]

  const backup = await command('backup', file)
  const restore = await host.run(['server', 'restore', file, '--data-dir', to], { env: {} })

  assert.equal(backup.code, 0, backup.stderr)
  assert.equal(restore.code, 0, restore.stderr)
  const keyless = await host.run(['server', '--data-dir', to, ...ANY_PORTS], { env: {} })
  assert.equal(keyless.code, 1)
  assert.match(keyless.stderr, /master key/)
  await copyFile(join(shared.dataDir, 'master.key'), join(to, 'master.key'))

  const restored = await waitUntilReady(runAdit(t, ['server', '--data-dir', to, ...ANY_PORTS]), to)
  const response = await fetch(`${restored.api_url}/api_keys`, {
    headers: { authorization: `Bearer ${shared.credentials.api_key}` },
  })
  assert.equal(response.status, 200)
})

test('on a public domain the first start prints a one-time link instead of a password', async (t) => {
  if (spawnSync('script', ['--version']).status !== 0) return t.skip('util-linux script is not installed')
  const dataDir = join(createTempDir(), 'state')
  const flags = ['--domain', 'tunnels.example.com', '--data-dir', dataDir]
  const first = runInTerminal(t, ['server', ...flags, ...ANY_PORTS])
  const credentials = await waitUntilReady(first, dataDir)
  const LINK = /https:\/\/dashboard\.tunnels\.example\.com:\d+\/dashboard\/#\S+token=(\S+)\s/
  const redeem = (output: string) => {
    const [, token] = LINK.exec(output) ?? []
    return fetch(`${credentials.api_url}/dashboard/api/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ link: token, password: 'a password of my own' }),
    })
  }

  const response = await redeem(first.output())
  const { status, stdout } = spawnSync(ADIT, ['server', 'admin-link', ...flags], { encoding: 'utf8' })

  assert.equal(first.output().includes('Password '), false)
  assert.equal(response.status, 200)
  assert.equal(
    ((await response.json()) as { user: { email: string } }).user.email,
    'admin@tunnels.example.com',
  )
  assert.equal(status, 0)
  assert.equal((await redeem(stdout)).status, 200)
  assert.equal(await signIn(credentials, 'admin@tunnels.example.com', 'a password of my own'), 200)
})

test('without a server in the data directory, no link is created', async () => {
  const { status, stderr } = spawnSync(ADIT, ['server', 'admin-link', '--data-dir', createTempDir()], {
    encoding: 'utf8',
  })

  assert.equal(status, 1)
  assert.match(stderr, /^ERROR: {2}There is no server in .* yet\. Start it once/)
})
