import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { cleanEnv, gatewayFlags, runProgram, startProgram } from '../../test/support/agent-process.ts'
import { startCommandHost } from '../../test/support/command-host.ts'
import { eventually } from '../../test/support/eventually.ts'
import { findFreePorts } from '../../test/support/free-ports.ts'
import { createTempDir } from '../../test/support/temp-dir.ts'
import { BASE_ROOT, VERSION } from '../base/version.ts'
import { ProtocolError, protocolError, StreamType } from '../protocol/index.ts'
import { TestGateway } from './testing/gateway.ts'
import { call, startHttpService } from './testing/local-api.ts'

// Runs the commands whose process is not the point.
const host = startCommandHost()
after(() => host.stop())

const GET = 'GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'

test('the version is printed in the format wrappers expect, also through a symlink to the launcher', async (t) => {
  const home = createTempDir()
  const env = cleanEnv(home)
  symlinkSync(join(BASE_ROOT, 'bin', 'adit'), join(home, 'link'))

  assert.equal((await runProgram(t, ['--version'], { env })).stdout, `adit version ${VERSION}\n`)
  assert.equal((await runProgram(t, ['version'], { env })).stdout, `adit version ${VERSION}\n`)
  assert.equal(execFileSync(join(home, 'link'), ['-v'], { env }).toString(), `adit version ${VERSION}\n`)
})

test('without arguments a short help is printed', async (t) => {
  const { code, stdout } = await runProgram(t, [], { env: cleanEnv(createTempDir()) })

  assert.equal(code, 0)
  assert.match(stdout, /adit http 3000/)
})

const MISTAKES: [args: string[], message: RegExp][] = [
  [['http', '--inpect=false', '80'], /has no flag --inpect\. Did you mean --inspect\?/],
  [['http', '--inspect=perhaps', '80'], /--inspect must be true or false/],
  [['http', '--log-level=loud', '80'], /--log-level: log_level must be one of debug/],
  [['http', 'ftp://x'], /scheme ftp/],
  [['http', '--basic-auth=a:b', '80'], /8 to 128 characters/],
  [['tcp', 'host'], /needs a port/],
  [['tunnel', '80'], /needs labels/],
  [['http', '80', '--output=xml'], /--output must be json/],
  [['start'], /nothing to start/],
  [['start', '--all'], /defines no tunnels.*\nERROR: {2}.*--none/],
  [['start', 'x'], /"x" is not defined/],
  [['start', '--all', 'x'], /omit either the names or --all/],
  [['start', '--none', 'x'], /omit the names and --all/],
  [['http', '80'], /No server is configured.*\nERROR: {2}Start one here with: +adit server/],
  [
    ['http', '--config=/nonexistent.yml', '80'],
    /cannot read the configuration file \/nonexistent\.yml: no such file/,
  ],
  [['service', 'install'], /name the configuration to run/],
  [['help', 'bogus'], /there is no command "bogus"/],
  [['help', 'confg'], /there is no command "confg"; did you mean "config"\?/],
  [['config', 'help', 'chek'], /there is no command "chek"; did you mean "check"\?/],
  [
    ['config', 'bogus'],
    /there is no command "adit config bogus"\.\nERROR: {2}All commands: adit help config/,
  ],
  [['config', 'add-authtoken', 'T', '--config=/'], /cannot read .* \/: it is a directory/],
  [['config', 'add-connect-url', 'a b'], /use host:port/],
  [['update'], /no update channel is configured/],
  [
    ['update', '--update-url=/none', '--update-key=K'],
    /cannot read the channel "stable" at \/none: no such file; check update_url/,
  ],
  [
    ['update', '--update-url=http://none.invalid', '--update-key=K', '--channel=beta'],
    /cannot read the channel "beta" at http:\/\/none\.invalid: the server cannot be reached; check update_url/,
  ],
  [
    ['http', '80', '--traffic-policy-url=http://none.invalid/p'],
    /cannot read the traffic policy at http:\/\/none\.invalid\/p: its name cannot be resolved/,
  ],
]

for (const [args, message] of MISTAKES) {
  test(`"adit ${args.join(' ')}" fails with a clear error`, async () => {
    const { code, stdout, stderr } = await host.run(args, { env: cleanEnv(createTempDir()) })

    assert.equal(code, 1)
    assert.equal(stdout, '')
    assert.match(stderr, message)
    for (const line of stderr.trimEnd().split('\n')) assert.match(line, /^ERROR: {2}/)
  })
}

test('a command group lists its subcommands', async () => {
  for (const group of ['config', 'service']) {
    const { code, stdout, stderr } = await host.run([group], { env: cleanEnv(createTempDir()) })

    assert.equal(code, 1)
    assert.match(stdout, new RegExp(`^Usage: adit ${group} `))
    assert.equal(stderr, '')
  }
})

for (const command of [
  '--help',
  'help',
  'version',
  'completion bash',
  'config',
  'api --help',
  'http --help',
]) {
  test(`"adit ${command}" exits quietly when its output pipe is closed`, async (t) => {
    const script = `{ "$0" ${command}; echo "exit $?" >&2; } | true`
    const env = cleanEnv(createTempDir())

    const { stderr } = await runProgram(t, ['-c', script, join(BASE_ROOT, 'bin', 'adit')], {
      env,
      launcher: '/bin/sh',
    })

    assert.match(stderr, command === 'config' ? /^exit 1\n$/ : /^exit 0\n$/)
  })
}

test('a full disk behind stdout is reported with a clear error', async (t) => {
  const launcher = join(BASE_ROOT, 'bin', 'adit')

  const { code, stderr } = await runProgram(t, ['-c', '"$0" version > /dev/full', launcher], {
    env: cleanEnv(createTempDir()),
    launcher: '/bin/sh',
  })

  assert.equal(stderr, 'ERROR:  cannot write to stdout: the disk is full\n')
  assert.equal(code, 1)
})

test('api prints nothing but JSON, whatever the log target', async (t) => {
  const home = createTempDir()
  const url = `http://127.0.0.1:${await startHttpService(t, (_request, response) => {
    response.setHeader('content-type', 'application/json').end('{"api_keys":[]}')
  })}`
  const file = join(home, 'adit.yml')
  writeFileSync(file, 'version: 3\nagent: {log: stdout, api_key: K}\n', { mode: 0o600 })
  const env = cleanEnv(home)

  for (const flags of [
    [`--config=${file}`],
    ['--log=stdout', '--api-key=K'],
    ['--log', 'stdout', '--api-key=K'],
  ]) {
    const { stdout, stderr } = await runProgram(
      t,
      ['api', 'api-keys', 'list', `--api-url=${url}`, ...flags],
      {
        env,
      },
    )

    assert.deepEqual(JSON.parse(stdout), { api_keys: [] })
    assert.match(stderr, /msg="open config file"/)
  }
})

test('tokens and keys are saved in a file only the owner can read', async (t) => {
  const home = createTempDir()
  const env = cleanEnv(home)
  const path = join(home, '.config', 'adit', 'adit.yml')

  const token = await host.run(['config', 'add-authtoken', 'TOKEN', '--log', 'stdout'], { env })
  const key = await runProgram(t, ['config', 'add-api-key', '-'], { env, input: 'KEY\n' })
  const url = await host.run(['config', 'add-server-addr', 'tunnel.example.com:443'], { env })
  const check = await host.run(['config', 'check'], { env })

  assert.equal(token.stdout, `Authtoken saved to configuration file: ${path}\n`)
  assert.equal(key.stdout, `API key saved to configuration file: ${path}\n`)
  assert.equal(url.stdout, `Connect URL saved to configuration file: ${path}\n`)
  assert.equal(check.stdout, `Valid configuration file at ${path}\n`)
  assert.equal(token.stderr + key.stderr + url.stderr + check.stderr, '')
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.equal(
    readFileSync(path, 'utf8'),
    'version: "3"\nagent:\n  authtoken: TOKEN\n  api_key: KEY\n  connect_url: tunnel.example.com:443\n',
  )
})

test("a file is upgraded, and edited in the user's editor", async () => {
  const home = createTempDir()
  const file = join(home, 'old.yml')
  writeFileSync(file, 'authtoken: T\n', { mode: 0o600 })
  const editor = join(home, 'editor.sh')
  writeFileSync(editor, `#!/bin/sh\necho "$1" > ${join(home, 'edited')}\n`)
  chmodSync(editor, 0o700)
  const env = cleanEnv(home, { EDITOR: editor, VISUAL: 'false' })

  const dry = await host.run(['config', 'upgrade', '--dry-run', `--config=${file}`], { env })
  const upgraded = await host.run(['config', 'upgrade', `--config=${file}`], { env })
  await host.run(['config', 'edit', `--config=${file}`], { env })

  assert.equal(dry.stdout, 'version: "3"\nagent:\n  authtoken: T\n')
  assert.match(upgraded.stdout, /version: "3"\nagent:\n {2}authtoken: T\n$/)
  assert.equal(readFileSync(`${file}.v1.bak`, 'utf8'), 'authtoken: T\n')
  assert.equal(readFileSync(join(home, 'edited'), 'utf8').trim(), file)
})

test('a link called ngrok prints the version and the codes that wrappers of the original read', async (t) => {
  const gateway = await TestGateway.start(t)
  const home = createTempDir()
  const launcher = join(home, 'ngrok')
  symlinkSync(join(BASE_ROOT, 'bin', 'adit'), launcher)
  const run = (...args: string[]) => runProgram(t, args, { env: cleanEnv(home), launcher })

  const versions = await Promise.all([run('--version'), run('version'), run(launcher, 'version')])
  const wrongToken = await run(
    'http',
    '80',
    ...gatewayFlags(gateway, home),
    '--authtoken=wrong',
    '--web-addr=false',
  )
  const rejection = { error_code: 'ERR_ADIT_203', status_code: 401, msg: 'No.', details: {} }
  const api = await startHttpService(t, (_, response) => {
    response.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify(rejection))
  })
  const policy = join(home, 'policy.yml')
  writeFileSync(policy, 'on_http_request: [{actions: [{type: none}]}]\n')
  const others = await Promise.all([
    run('policy', 'check', policy),
    run('api', 'endpoints', 'list', `--api-url=http://localhost:${api}`, '--api-key=K'),
    run('diagnose', ...gatewayFlags(gateway, home), '--authtoken=wrong'),
  ])
  const update = await run(launcher, 'update')

  assert.deepEqual(
    versions.map(({ stdout }) => stdout),
    Array.from({ length: 3 }, () => 'ngrok version 3.22.0\n'),
  )
  assert.match(wrongToken.stderr, /^ERROR: {2}ERR_NGROK_\d+$/m)
  for (const { stdout, stderr } of [wrongToken, ...others]) {
    assert.match(stdout + stderr, /ERR_NGROK_\d+/)
    assert.doesNotMatch(stdout + stderr, /ERR_ADIT_/)
  }
  assert.match(update.stderr, /update_url/)
})

test('a local port without a service is a hint on the screen and a warning in the log', async (t) => {
  const gateway = await TestGateway.start(t)
  const home = createTempDir()
  const log = join(home, 'agent.log')
  const args = ['http', '1', ...gatewayFlags(gateway, home), '--web-addr=false', `--log=${log}`]

  const program = startProgram(t, args, { env: cleanEnv(home) })
  await program.until(
    ({ stdout }) =>
      /Forwarding/.test(stdout) && /Hint +Nothing listens at http:\/\/localhost:1 yet/.test(stdout),
  )
  const warning = /lvl=warn msg="nothing listens at the address of the tunnel" addr=http:\/\/localhost:1/
  await eventually(() => warning.test(readFileSync(log, 'utf8')), 'the warning in the log')
})

test('what the server says of a policy is a hint on the screen and a warning in the log', async (t) => {
  const gateway = await TestGateway.start(t)
  gateway.bindWarnings = ['line 4: it reads what may be missing']
  const home = createTempDir()
  const log = join(home, 'agent.log')
  const args = ['http', '1', ...gatewayFlags(gateway, home), '--web-addr=false', `--log=${log}`]

  const program = startProgram(t, args, { env: cleanEnv(home) })
  await program.until(({ stdout }) =>
    /Forwarding.*\n(?:.*\n)*Hint +The traffic policy of \S+: line 4: it reads what may be missing/.test(
      stdout,
    ),
  )
  assert.match(readFileSync(log, 'utf8'), /lvl=warn msg="The traffic policy of .*: line 4: it reads what/)
})

test('a host that does not resolve and an issuer that does not answer are hints and warnings too', async (t) => {
  const gateway = await TestGateway.start(t)
  const home = createTempDir()
  const log = join(home, 'agent.log')
  const issuer = [`--oidc=http://127.0.0.1:${await findFreePorts(1)}`, '--oidc-client-id=id']
  const flags = [...gatewayFlags(gateway, home), '--web-addr=false', `--log=${log}`]

  const program = startProgram(t, ['http', 'abc.invalid', ...issuer, ...flags], { env: cleanEnv(home) })
  await program.until(
    ({ stdout }) =>
      /Hint +The host of http:\/\/abc\.invalid:80 cannot be resolved: give a port/.test(stdout) &&
      /Hint +The OpenID issuer http:\/\/127\.0\.0\.1:\d+ cannot be reached from this machine: nothing listens/.test(
        stdout,
      ),
  )
  const warnings =
    /msg="the host in the address.*msg="the OpenID issuer|msg="the OpenID issuer.*msg="the host in/s
  await eventually(() => warnings.test(readFileSync(log, 'utf8')), 'the warnings in the log')
})

test('http prints its URL without a terminal, serves it, unbinds it on SIGTERM and exits', async (t) => {
  const gateway = await TestGateway.start(t)
  const home = createTempDir()
  const addr = await startHttpService(t, (_request, response) => response.end('hello'))
  const args = ['http', addr, ...gatewayFlags(gateway, home), '--web-addr=127.0.0.1:0']

  const program = startProgram(t, args, { env: cleanEnv(home) })
  await program.until(({ stdout }) => /Forwarding/.test(stdout))
  const url = /Forwarding +(\S+) -> http:\/\/localhost/.exec(program.stdout)?.[1] ?? ''
  const response = await gateway.request(url, GET)
  program.child.kill('SIGTERM')
  const code = await program.waitForExit()

  assert.match(response, /hello/)
  assert.equal(code, 0)
  assert.match(program.stdout, /Web Interface +http:\/\/127\.0\.0\.1:\d+\n/)
  assert.equal(program.stderr, '')
  assert.equal(gateway.calls.at(-1)?.type, StreamType.Unbind)
  assert.doesNotMatch(program.stdout, new RegExp(gateway.token))
})

test('secrets of a tunnel appear in no output, log or response of the local API', async (t) => {
  const gateway = await TestGateway.start(t)
  const home = createTempDir()
  const addr = await startHttpService(t, (_request, response) => response.end('hello'))
  const log = join(home, 'agent.log')
  const options = [
    '--basic-auth=me:CANARY-password',
    '--verify-webhook=github',
    '--verify-webhook-secret=CANARY-secret',
    '--oauth=github',
    '--oauth-client-id=me',
    '--oauth-client-secret=CANARY-client',
    `--log=${log}`,
    '--log-level=debug',
  ]
  const start = (extra: string[]) =>
    startProgram(t, ['http', addr, ...gatewayFlags(gateway, home), ...options, ...extra], {
      env: cleanEnv(home),
    })

  const json = start(['--output', 'json', '--web-addr=127.0.0.1:0'])
  await json.until(({ stdout }) => /"tunnel"/.test(stdout))
  const web = /http:\/\/127\.0\.0\.1:\d+/.exec(json.stdout)?.[0]
  const responses = await Promise.all(
    ['/api/tunnels', '/api/endpoints', '/api/status'].map(async (path) =>
      (await fetch(`${web}${path}`)).text(),
    ),
  )
  json.child.kill('SIGTERM')
  await json.waitForExit()

  const outputs = [json.stdout, json.stderr, ...responses, readFileSync(log, 'utf8')]
  assert.match(outputs.join(), /Forwarding|"tunnel"/)
  for (const output of outputs) assert.doesNotMatch(output, new RegExp(`CANARY|${gateway.token}`))
})

test('http waits for a name whose lease is about to expire, and says why', async (t) => {
  const gateway = await TestGateway.start(t)
  const home = createTempDir()
  gateway.bindError = protocolError('name_expiring', 'http://mine.adit.test')

  const program = startProgram(t, ['http', '80', ...gatewayFlags(gateway, home), '--web-addr=false'], {
    env: cleanEnv(home),
  })
  await program.until(({ stdout }) => /Waiting +http:\/\/mine\.adit\.test is held by a session/.test(stdout))
  gateway.bindError = undefined

  await program.until(({ stdout }) => /Forwarding/.test(stdout))
})

test('--output json prints one JSON object per line', async (t) => {
  const gateway = await TestGateway.start(t)
  const home = createTempDir()

  const program = startProgram(
    t,
    ['tcp', '22', ...gatewayFlags(gateway, home), '--web-addr=false', '--output', 'json'],
    { env: cleanEnv(home) },
  )
  await program.until(({ stdout }) => /"tunnel"/.test(stdout))
  program.child.kill('SIGINT')

  assert.equal(await program.waitForExit(), 0)
  const events = program.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  assert.deepEqual(events[0], { event: 'session', status: 'online' })
  assert.equal(events[1]?.name, 'command_line')
  assert.match(String(events[1]?.public_url), /^tcp:\/\//)
})

test('an agent keeps serving when its output pipe is closed', async (t) => {
  const gateway = await TestGateway.start(t)
  const home = createTempDir()
  const addr = await startHttpService(t, (_request, response) => response.end('hello'))
  const args = ['http', addr, ...gatewayFlags(gateway, home), '--web-addr=false', '--output=json']
  const program = startProgram(t, args, { env: cleanEnv(home) })
  await program.until(({ stdout }) => /"tunnel"/.test(stdout))
  const url = /"public_url":"([^"]+)"/.exec(program.stdout)?.[1] ?? ''

  program.child.stdout?.destroy()
  const { port } = gateway
  gateway.stop()
  gateway.tunnels.clear()
  await gateway.listen(port)
  await eventually(() => gateway.tunnels.size > 0)
  const response = await gateway.request(url, GET)
  program.child.kill('SIGTERM')

  assert.match(response, /hello/)
  assert.equal(await program.waitForExit(), 0)
  assert.equal(program.stderr, '')
})

test('an agent keeps serving when its log cannot be written', async (t) => {
  const gateway = await TestGateway.start(t)
  const home = createTempDir()
  const addr = await startHttpService(t, (_request, response) => response.end('hello'))
  const args = ['http', addr, ...gatewayFlags(gateway, home), '--web-addr=false', '--log=/dev/full']
  const program = startProgram(t, args, { env: cleanEnv(home) })
  await program.until(({ stdout }) => /Forwarding/.test(stdout))
  const url = /Forwarding +(\S+) ->/.exec(program.stdout)?.[1] ?? ''

  const response = await gateway.request(url, GET)
  program.child.kill('SIGTERM')

  assert.match(response, /hello/)
  assert.equal(await program.waitForExit(), 0)
  assert.equal(program.stderr, 'WARN:  cannot write the log to /dev/full: the disk is full\n')
})

test('start --none with a log on stdout prints the messages wrappers wait for, and nothing on stderr', async (t) => {
  const gateway = await TestGateway.start(t)
  const home = createTempDir()
  const program = startProgram(
    t,
    ['start', '--none', '--log=stdout', '--region=us', ...gatewayFlags(gateway, home)],
    { env: cleanEnv(home) },
  )

  await program.until(({ stdout }) => /client session established/.test(stdout))
  const address = /msg="starting web service" obj=web addr=(\d+\.\d+\.\d+\.\d+:\d+)/.exec(program.stdout)?.[1]
  const { json } = await call(`http://${address}`, 'GET', '/api/tunnels')
  program.child.kill('SIGTERM')
  await program.waitForExit()

  assert.deepEqual(json.tunnels, [])
  assert.match(program.stdout, /lvl=info msg="no configuration paths supplied"/)
  assert.match(program.stdout, /msg="tunnel session started"/)
  assert.match(program.stdout, /lvl=warn msg="the flag --region is deprecated/)
  assert.match(program.stdout, /msg="received stop request" obj=app stopReq=SIGTERM/)
  assert.match(program.stdout, /lvl=info msg="session closing" obj=tunnels\.session err=nil/)
  assert.equal(program.stderr, '')
  assert.doesNotMatch(program.stdout, new RegExp(gateway.token))
})

test('start runs the defined tunnels and endpoints, by name or all of them', async (t) => {
  const gateway = await TestGateway.start(t)
  const home = createTempDir()
  const file = join(home, 'adit.yml')
  writeFileSync(
    file,
    'version: 3\nendpoints:\n  - name: web\n    url: https://web.test\n    upstream: {url: 3000}\ntunnels:\n  ssh: {proto: tcp, addr: 22}\n  both: {proto: http, addr: 80, schemes: [http, https], hostname: both.test}\n',
    { mode: 0o600 },
  )
  const common = [`--config=${file}`, '--web-addr=false', ...gatewayFlags(gateway, home)]

  const one = startProgram(t, ['start', 'web', ...common], { env: cleanEnv(home) })
  await one.until(({ stdout }) => /https:\/\/web\.test -> http:\/\/localhost:3000/.test(stdout))
  one.child.kill('SIGTERM')
  await one.waitForExit()
  const all = startProgram(t, [...common.slice(0, 1), 'start', '--all', ...common.slice(1)], {
    env: cleanEnv(home),
  })
  await all.until(({ stdout }) => stdout.split('Forwarding').length === 5)
  const unknown = await runProgram(t, ['start', 'wbe', ...common], { env: cleanEnv(home) })

  assert.match(
    unknown.stderr,
    /"wbe" is not defined\. Did you mean: adit start web\nERROR: {2}Defined: ssh, both, web\nERROR: {2}Files read: .*adit\.yml/,
  )
})

test("a rejected token ends the program with the server's error code and is not printed", async (t) => {
  const gateway = await TestGateway.start(t)
  const home = createTempDir()
  const flags = gatewayFlags(gateway, home).slice(0, 2)
  writeFileSync(join(home, 'token'), 'a-wrong-token\n')

  const { code, stdout, stderr } = await runProgram(
    t,
    ['http', '80', ...flags, `--authtoken-file=${join(home, 'token')}`, '--log=stdout', '--log-level=debug'],
    { env: cleanEnv(home) },
  )

  assert.equal(code, 1)
  assert.match(
    stderr,
    /^ERROR: {2}authentication failed: The authtoken is not valid\.\nERROR: {2}\nERROR: {2}ERR_ADIT_107\nERROR: {2}adit help ERR_ADIT_107\n$/,
  )
  assert.match(stdout, /lvl=eror msg="session closing" obj=tunnels\.session err=".*not valid/)
  assert.match(stdout, /lvl=eror msg="terminating with error"/)
  assert.match(stdout, /lvl=crit msg="command failed" err="?.*not valid/)
  assert.doesNotMatch(stdout + stderr, /a-wrong-token/)
})

test('a tunnel rejected by the server ends the program', async (t) => {
  const gateway = await TestGateway.start(t)
  gateway.bindError = new ProtocolError('https://a.test is already online.', 334)
  const home = createTempDir()

  const { code, stderr } = await runProgram(
    t,
    ['http', '80', '--web-addr=false', ...gatewayFlags(gateway, home)],
    { env: cleanEnv(home) },
  )

  assert.equal(code, 1)
  assert.match(stderr, /failed to start tunnel: https:\/\/a\.test is already online\./)
  assert.match(stderr, /ERROR: {2}ERR_ADIT_334\nERROR: {2}adit help ERR_ADIT_334\n$/)
})

test('a web address in use ends the program', async (t) => {
  const gateway = await TestGateway.start(t)
  const home = createTempDir()
  const occupied = createServer().listen(0, '127.0.0.1')
  await once(occupied, 'listening')
  t.after(() => occupied.close())
  const { port } = occupied.address() as { port: number }

  const { code, stderr } = await runProgram(
    t,
    ['start', '--none', `--web-addr=127.0.0.1:${port}`, ...gatewayFlags(gateway, home)],
    {
      env: cleanEnv(home),
    },
  )

  assert.equal(code, 1)
  assert.match(stderr, new RegExp(`${port}: bind: address already in use`))
})

test('environment variables set what flags set', async (t) => {
  const gateway = await TestGateway.start(t)
  const home = createTempDir()
  gatewayFlags(gateway, home)
  const env = cleanEnv(home, {
    ADIT_AUTHTOKEN: gateway.token,
    ADIT_CONNECT_URL: `localhost:${gateway.port}`,
    ADIT_ROOT_CAS: join(home, 'ca.pem'),
    ADIT_WEB_ADDR: 'false',
  })

  const program = startProgram(
    t,
    ['http', '80', '--host-header=rewrite', '--basic-auth', 'me:password', '--scheme=http'],
    { env },
  )
  await program.until(({ stdout }) => /Forwarding +http:\/\//.test(stdout))

  const [bound] = [...gateway.tunnels.values()]
  assert.ok(bound)
  assert.deepEqual((bound.request.Opts as { BasicAuth: object }).BasicAuth, {
    credentials: [{ username: 'me', cleartext_password: 'password' }],
  })
})

test('a stop command from the server ends the program', async (t) => {
  const gateway = await TestGateway.start(t)
  const home = createTempDir()
  const program = startProgram(t, ['http', '80', '--web-addr=false', ...gatewayFlags(gateway, home)], {
    env: cleanEnv(home),
  })
  await program.until(({ stdout }) => /Forwarding/.test(stdout))

  await gateway.session!.command(StreamType.Stop, {})

  assert.equal(await program.waitForExit(), 0)
})

test('completion covers commands and flags', async (t) => {
  const { stdout } = await runProgram(t, ['completion', 'bash'], { env: cleanEnv(createTempDir()) })
  const complete = (...words: string[]) =>
    execFileSync('bash', [
      '-c',
      `${stdout}\nCOMP_WORDS=(adit ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}; _adit; echo "\${COMPREPLY[@]}"`,
    ])
      .toString()
      .trim()

  assert.equal(complete('con'), 'config')
  assert.equal(complete('config', 'add-a'), 'add-authtoken add-api-key')
  assert.equal(complete('http', '--host-h'), '--host-header')
  assert.match(complete('tcp', '--log-l'), /--log-level/)
})

test('diagnose names each step and the one that fails', async (t) => {
  const gateway = await TestGateway.start(t)
  const home = createTempDir()
  const report = join(home, 'report.json')
  const flags = gatewayFlags(gateway, home)

  const config = join(home, 'adit.yml')
  writeFileSync(
    config,
    'version: 3\nagent:\n  api_key: CANARY\n  update_url: https://me:CANARY@updates.test/x\n',
  )
  const healthy = await host.run(['diagnose', '-w', report, '--config', config, ...flags], {
    env: cleanEnv(home),
  })
  const wrong = await host.run(['diagnose', ...flags.slice(0, 2), '--authtoken=nope-nope'], {
    env: cleanEnv(home),
  })
  gateway.stop()
  const down = await host.run(['diagnose', ...flags], { env: cleanEnv(home) })

  assert.equal(healthy.code, 0, healthy.stdout)
  assert.match(healthy.stdout, /Agent protocol and authtoken +\[ OK \] account Ada, region eu/)
  assert.equal(JSON.parse(readFileSync(report, 'utf8')).config.authtoken, '[hidden]')
  assert.ok(!`${readFileSync(report, 'utf8')}${healthy.stdout}${healthy.stderr}`.includes('CANARY'))
  assert.match(healthy.stdout, /TLS and certificate +\[ OK \] TLSv1\.[23]/)
  assert.equal(wrong.code, 1)
  assert.match(wrong.stdout, /Agent protocol and authtoken +\[ FAIL \]/)
  assert.match(wrong.stdout, /not valid\.\n {4}ERR_ADIT_107\n {4}adit help ERR_ADIT_107/)
  assert.equal(down.code, 1)
  assert.match(down.stdout, /Internet\n {2}Name resolution +\[ OK \].*\n {2}TCP connection +\[ FAIL \]/)
  assert.match(down.stdout, /nothing listens at localhost:\d+ .*\n {4}ERR_ADIT_8002/)
})

test('diagnose shows how many legs a session may have, and tries the other nodes that the server names', async (t) => {
  const [gateway, other] = [await TestGateway.start(t), await TestGateway.start(t)]
  const home = createTempDir()
  const flags = gatewayFlags(gateway, home)
  const nodes = [`127.0.0.1:${other.port}`, 'localhost:1']
  gateway.connectAddresses = [`localhost:${gateway.port}`, ...nodes]

  const { code, stdout } = await host.run(['diagnose', ...flags], { env: cleanEnv(home) })

  assert.match(stdout, /Connections of a session +\[ OK \] up to \d/)
  assert.match(stdout, new RegExp(`Node 127.0.0.1:${other.port} +\\[ OK \\]`))
  assert.match(stdout, /Node localhost:1 +\[ FAIL \]/)
  assert.doesNotMatch(stdout, new RegExp(`Node localhost:${gateway.port}`))
  assert.match(stdout, /nothing listens at localhost:1/)
  assert.equal(code, 1)
})

test('diagnose hides secrets in every setting, check and file, whatever form they have', async (t) => {
  const gateway = await TestGateway.start(t)
  const home = createTempDir()
  const [file, report] = [join(home, 'adit.yml'), join(home, 'report.json')]
  const flags = gatewayFlags(gateway, home)
  const token = 'CANARY-token'
  // A hostile or careless server.
  gateway.authError = new ProtocolError(`The authtoken ${token} is not valid.`, 107)
  const cases: readonly [lines: string, env: Record<string, string>][] = [
    [`connect_url: ["https://me:CANARY@127.0.0.1:9", "me:CANARY@127.0.0.1:9"]`, {}],
    ['connect_url: "127.0.0.1:9?authtoken=CANARY"', {}],
    ['connect_url: "tls://CANARY@/CANARY@x"', {}],
    ['update_url: "https://me:CAN@CANARY@h.test/x?token=CANARY#CANARY"', {}],
    ['crl_url: "http://127.0.0.1:9/list?sig=CANARY"', {}],
    ['crl_url: "http://me:CANARY@127.0.0.1:9/list?sig=CANARY"', {}],
    ['metadata: "postgres://me:CANARY@h.test/db"', {}],
    ['proxy_url: "http://me:CANARY@127.0.0.1:9"', {}],
    ['proxy_url: "http://me:CANARY @127.0.0.1:99999"', {}],
    ['update_check: false', { http_proxy: 'http://me:CANARY@127.0.0.1:9' }],
    ['update_check: false', { ADIT_PROXY_URL: 'ftp://me:CANARY@127.0.0.1:9' }],
  ]

  for (const [line, more] of cases) {
    writeFileSync(file, `version: 3\nagent:\n  api_key: CANARY-key\n  authtoken: ${token}\n  ${line}\n`)
    const args = ['--config', file, ...(line.startsWith('connect_url') ? [] : flags.slice(0, 2))]
    const { code, stdout, stderr } = await runProgram(t, ['diagnose', '-w', report, ...args], {
      env: cleanEnv(home, more),
    })
    const text = readFileSync(report, 'utf8')

    assert.equal(code, 1, stdout)
    assert.equal(JSON.parse(text).ok, false)
    assert.doesNotMatch(`${stdout}${stderr}${text}`, /CANARY/, line)
  }
})

test('diagnose can be limited to one address family and can print JSON', async (t) => {
  const gateway = await TestGateway.start(t)
  const home = createTempDir()
  const flags = [...gatewayFlags(gateway, home), '--output=json', '--log=stdout']
  const env = cleanEnv(home)

  const four = await host.run(['diagnose', '-4', ...flags], { env })
  const six = await host.run(['diagnose', '-6', ...flags], { env })
  const both = await host.run(['diagnose', '-4', '-6', ...flags], { env })

  const report = JSON.parse(four.stdout)
  assert.equal(four.code, 0)
  assert.equal(report.ok, true)
  assert.equal(
    report.checks.find(({ title }: { title: string }) => title === 'Name resolution').detail,
    '127.0.0.1',
  )
  assert.equal(six.code, 1)
  assert.match(JSON.parse(six.stdout).checks.at(-1).code, /^ERR_ADIT_800[02]$/)
  assert.match(both.stderr, /ERROR: {2}-4 and -6 exclude each other/)
})

test('diagnose names the proxy that fails', async (t) => {
  const home = createTempDir()
  const env = cleanEnv(home, { ADIT_PROXY_URL: 'http://proxy.invalid:3128' })

  const { stdout } = await runProgram(
    t,
    ['diagnose', '--connect-url=tunnel.example.com', '--authtoken=T', '--output=json'],
    { env },
  )

  const { checks } = JSON.parse(stdout)
  assert.equal(checks.at(-1).title, 'Name resolution of the proxy')
  assert.match(checks.at(-1).detail, /proxy\.invalid/)
  assert.equal(checks.at(-1).code, 'ERR_ADIT_8005')
})

test('a service is installed, controlled and removed with systemd', async () => {
  const home = createTempDir()
  const bin = join(home, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'systemctl'), `#!/bin/sh\necho "$*" >> ${join(home, 'calls')}\necho active\n`)
  chmodSync(join(bin, 'systemctl'), 0o700)
  const file = join(home, 'my config.yml')
  writeFileSync(file, 'version: 3\ntunnels:\n  ssh: {proto: tcp, addr: 22}\n', { mode: 0o600 })
  const env = cleanEnv(home, { ADIT_UNIT_DIR: join(home, 'units') })
  env.PATH = `${bin}:${env.PATH}`
  const unit = join(home, 'units', 'adit-agent.service')

  const beforeInstall = await host.run(['service', 'start'], { env })
  const installed = await host.run(['service', 'install', '--config', file], { env })
  const text = readFileSync(unit, 'utf8')
  await host.run(['service', 'start'], { env })
  await host.run(['service', 'restart'], { env })
  const status = await host.run(['service', 'status'], { env })
  await host.run(['service', 'stop'], { env })
  const removed = await host.run(['service', 'uninstall'], { env })

  assert.match(beforeInstall.stderr, /not installed/)
  assert.equal(installed.code, 0, installed.stderr)
  assert.match(text, new RegExp(`ExecStart="${BASE_ROOT}/bin/adit" "service" "run" "--config" "${file}"`))
  assert.match(text, /Restart=always\nRestartSec=15/)
  assert.deepEqual([status.code, status.stdout], [0, `Service running: ${unit}\n`])
  assert.equal(removed.code, 0)
  assert.ok(!existsSync(unit))
  const calls = readFileSync(join(home, 'calls'), 'utf8').replaceAll('--user ', '').trim().split('\n')
  assert.deepEqual(calls, [
    'daemon-reload',
    'enable adit-agent.service',
    'start adit-agent.service',
    'restart adit-agent.service',
    'is-active adit-agent.service',
    'stop adit-agent.service',
    'disable --now adit-agent.service',
    'daemon-reload',
  ])
})

for (const [title, source, message] of [
  [
    'a bad definition',
    'version: 3\ntunnels:\n  web: {proto: htp, addr: 80}\n',
    /line 3: proto of the tunnel "web"/,
  ],
  ['a bad address', 'version: 3\nagent:\n  web_addr: nowhere\n', /line 3: web_addr: .* must be host:port/],
] as const) {
  test(`a file with ${title} is rejected by every command that would use it`, async () => {
    const home = createTempDir()
    const config = `--config=${join(home, 'adit.yml')}`
    writeFileSync(join(home, 'adit.yml'), source, { mode: 0o600 })
    const env = cleanEnv(home, { ADIT_UNIT_DIR: join(home, 'units') })
    const run = (...args: string[]) => host.run([...args, config], { env })

    const results = await Promise.all([
      run('config', 'check'),
      run('service', 'install'),
      run('start', '--all'),
      run('start', 'web'),
      run('service', 'run'),
    ])

    for (const { stderr } of results) assert.match(stderr, message)
    assert.deepEqual(
      results.map(({ code }) => code),
      [1, 1, 1, 1, 5],
    )
  })
}

test('a service without definitions is rejected like start --all', async () => {
  const home = createTempDir()
  const config = `--config=${join(home, 'adit.yml')}`
  writeFileSync(join(home, 'adit.yml'), 'version: 3\nagent: {}\n', { mode: 0o600 })

  const run = await host.run(['service', 'run', config], { env: cleanEnv(home) })
  const install = await host.run(['service', 'install', config], { env: cleanEnv(home) })

  assert.equal(run.code, 5)
  assert.equal(install.code, 1)
  for (const { stderr } of [run, install]) assert.match(stderr, /defines no tunnels.*\nERROR: {2}.*--none/)
})

test('a service with an unusable configuration exits with code 5', async () => {
  const home = createTempDir()
  writeFileSync(join(home, 'bad.yml'), 'version: 3\nagnt: {}\n')

  const { code, stderr } = await host.run(['service', 'run', '--config', join(home, 'bad.yml')], {
    env: cleanEnv(home),
  })

  assert.equal(code, 5)
  assert.match(stderr, /did you mean "agent"/)
})

test('SIGHUP and adit config reload read the configuration again and leave what did not change online', async (t) => {
  const gateway = await TestGateway.start(t)
  const home = createTempDir()
  const config = join(home, 'adit.yml')
  const addr = await startHttpService(t, (_request, response) => response.end('hello'))
  const define = (tunnels: Record<string, object>, agent = '') =>
    writeFileSync(config, `version: "3"\nagent: {${agent}}\ntunnels: ${JSON.stringify(tunnels)}\n`, {
      mode: 0o600,
    })
  const tunnel = (name: string) => ({ proto: 'http', addr, domain: `${name}.test`, schemes: ['https'] })
  define({ kept: tunnel('kept'), changed: tunnel('changed'), gone: tunnel('gone') })
  const flags = [
    `--config=${config}`,
    '--web-addr=127.0.0.1:0',
    '--log=stdout',
    ...gatewayFlags(gateway, home),
  ]
  const program = startProgram(t, ['start', '--all', ...flags], { env: cleanEnv(home) })
  await program.until(({ stdout }) => stdout.split('started tunnel').length === 4)
  const web = /msg="starting web service" obj=web addr=(\S+)/.exec(program.stdout)?.[1]
  const list = async () => {
    const { json } = await call(`http://${web}`, 'GET', '/api/tunnels')
    return new Map<string, string>(
      (json.tunnels as { name: string; ID: string }[]).map(({ name, ID }) => [name, ID]),
    )
  }
  const before = await list()
  const reload = () => host.run(['config', 'reload', `--web-addr=${web}`], { env: cleanEnv(home) })

  define(
    { kept: tunnel('kept'), changed: { ...tunnel('changed'), metadata: 'new' }, added: tunnel('added') },
    'legs: 1',
  )
  const changed = await reload()
  const after = await list()
  define({ kept: { ...tunnel('kept'), proto: 'gopher' } })
  const mistaken = await reload()
  program.child.kill('SIGHUP')
  await program.until(({ stdout }) => stdout.includes('configuration not reloaded'))
  const afterMistake = await list()
  define({ kept: tunnel('kept') })
  program.child.kill('SIGHUP')
  await program.until(({ stdout }) => stdout.split('msg="configuration reloaded"').length === 3)
  const last = await list()

  assert.equal(
    changed.stdout,
    'The configuration was reloaded: started added; replaced changed; stopped gone; unchanged kept.\n' +
      'These settings take effect after a restart of the agent: legs\n',
  )
  assert.deepEqual([...after.keys()].sort(), ['added', 'changed', 'kept'])
  assert.equal(after.get('kept'), before.get('kept'))
  assert.equal(mistaken.code, 1)
  assert.match(mistaken.stderr, /was not reloaded, and nothing changed\.\n.*adit\.yml line 3: .*gopher/)
  assert.deepEqual(afterMistake, after)
  assert.deepEqual(last, new Map([['kept', before.get('kept')]]))
})

test('config reload says which agent does not answer, and that others have nothing to reload', async (t) => {
  const gateway = await TestGateway.start(t)
  const home = createTempDir()
  const program = startProgram(
    t,
    ['http', '1', '--web-addr=127.0.0.1:0', '--log=stdout', ...gatewayFlags(gateway, home)],
    { env: cleanEnv(home) },
  )
  await program.until(({ stdout }) => /started tunnel/.test(stdout))
  const web = /msg="starting web service" obj=web addr=(\S+)/.exec(program.stdout)?.[1]
  const reload = (address: string | undefined) =>
    host.run(['config', 'reload', `--web-addr=${address}`], { env: cleanEnv(home) })

  const nothing = await reload(web)
  const absent = await reload(`127.0.0.1:${await findFreePorts(1)}`)

  assert.match(nothing.stderr, /was not started with "adit start"/)
  assert.match(absent.stderr, /no agent answers at 127\.0\.0\.1:\d+: nothing listens there/)
  program.child.kill('SIGHUP')
  await program.until(({ stdout }) => /configuration not reloaded/.test(stdout))
})
