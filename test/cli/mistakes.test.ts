import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import { connect } from '../../src/agent/index.ts'
import { describeStartError } from '../../src/server/process/start-errors.ts'
import { startProgram } from '../support/agent-process.ts'
import { startCommandHost } from '../support/command-host.ts'
import { ANY_PORTS } from '../support/free-ports.ts'
import { startPlatform } from '../support/platform.ts'
import { createSecondAccount } from '../support/second-account.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { createTestCa } from '../support/test-ca.ts'
import { MISTAKES, type Mistake, SYSTEM_ERRORS } from './mistakes.ts'

/** What must not reach a user: texts of Node, OpenSSL and V8, stack traces, codes of the system. */
const INTERNALS =
  /\bE[A-Z]{4,}\b(?<!ERROR)|ERR_(?!ADIT_)|[Oo]pen[Ss][Ss][Ll]|SSL routines|node:|\n\s+at |\.ts:\d+|undefined|\[object/

const CONCURRENCY = 3

// Runs mistakes that are found before anything is started, or in a call of the API.
const host = startCommandHost()
after(() => host.stop())

test('each of the common mistakes is answered with this text', async (t) => {
  const facts = await prepare(t)
  const queue = [...MISTAKES]
  const wrong: object[] = []
  const work = async () => {
    for (let mistake = queue.shift(); mistake !== undefined; mistake = queue.shift()) {
      const output = await runMistake(t, mistake, facts)
      const text = Object.entries(facts).reduce(
        (left, [name, value]) => left.replaceAll(value, `{${name}}`),
        output,
      )
      if (text !== mistake.says) wrong.push({ mistake: mistake.line, text })
      assert.doesNotMatch(text, INTERNALS, mistake.line)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, work))

  assert.deepEqual(wrong, [])
  assert.ok(MISTAKES.length >= 48)
})

test('errors of the system at the start of a server are answered with these texts', () => {
  for (const [error, sentence] of SYSTEM_ERRORS) {
    assert.equal(describeStartError(Object.assign(new Error('raw'), error)), sentence)
    assert.doesNotMatch(sentence, INTERNALS)
  }
  assert.equal(describeStartError(new TypeError('x is not a function')), undefined)
})

/** A platform with two accounts, one with a reserved and a bound name, and the values that differ between runs. */
async function prepare(t: TestContext): Promise<Record<string, string>> {
  const platform = await startPlatform(t)
  const { credentials } = platform
  const other = await createSecondAccount(platform)
  await other.call.create('/reserved_domains', { domain: 'theirs.adit.localhost' })
  const busy = createServer().listen(0, '127.0.0.1')
  await once(busy, 'listening')
  t.after(() => busy.close())
  const agent = await connect({ env: { ADIT_DATA_DIR: platform.dataDir } })
  t.after(() => agent.close())
  await agent.forward({ addr: 3000, url: 'https://taken.adit.localhost' })
  const early = await startEarlyServer(t)
  const portOf = (url: string) => new URL(url).port
  const home = createTempDir()
  writeFileSync(join(home, 'file'), '')
  return {
    home,
    ca: credentials.ca_file,
    authtoken: credentials.authtoken,
    apiKey: credentials.api_key,
    agent: credentials.agent_addr,
    https: portOf(credentials.https_url),
    http: portOf(credentials.http_url),
    api: credentials.api_url,
    apiHost: new URL(credentials.api_url).host,
    ...early,
    dataDir: platform.dataDir,
    today: new Date().toISOString().slice(0, 10),
    busy: String((busy.address() as { port: number }).port),
  }
}

/** A server whose certificate is not valid yet, as all are for a machine whose clock is behind. */
async function startEarlyServer(t: TestContext): Promise<{ early: string; earlyCa: string }> {
  const ca = await createTestCa({ now: Date.now() + 365 * 86_400_000 })
  const earlyCa = join(createTempDir(), 'early.pem')
  writeFileSync(earlyCa, ca.caPem)
  const server = createTlsServer(await ca.issue('127.0.0.1')).listen(0, '127.0.0.1')
  server.on('tlsClientError', () => {})
  t.after(() => server.close())
  await once(server, 'listening')
  return { early: String((server.address() as { port: number }).port), earlyCa }
}

/** Runs the command line of a mistake and returns all of its output; one that keeps running is stopped at `until`. */
async function runMistake(t: TestContext, mistake: Mistake, facts: Record<string, string>): Promise<string> {
  const fill = (text: string) => text.replace(/\{(\w+)\}/g, (_, name) => facts[name] ?? assert.fail(name))
  const home = createTempDir()
  if (mistake.config !== undefined) {
    mkdirSync(join(home, '.config', 'adit'), { recursive: true })
    writeFileSync(join(home, '.config', 'adit', 'adit.yml'), mistake.config)
  }
  const connect = {
    ADIT_CONNECT_URL: facts.agent!,
    ADIT_AUTHTOKEN: facts.authtoken!,
    ADIT_CONNECT_CAS: facts.ca!,
  }
  const api = { ADIT_API_URL: facts.api!, ADIT_API_KEY: facts.apiKey! }
  const args = fill(mistake.line).split(' ').slice(1)
  const isServer = args[0] === 'server'
  const env = {
    PATH: process.env.PATH!,
    HOME: home,
    XDG_CONFIG_HOME: join(home, '.config'),
    ...(isServer ? {} : { ADIT_WEB_ADDR: 'false', ADIT_DATA_DIR: join(home, 'data') }),
    ...(mistake.offline || isServer ? {} : { ...connect, ...api }),
    ...mistake.env,
  }
  if (mistake.onPorts)
    args.push(
      ...ANY_PORTS.filter((_, index) => !args.includes(ANY_PORTS[index - (index % 2)]!)),
      '--data-dir',
      join(home, 'data'),
    )
  const show = (printed: { stdout: string; stderr: string }) =>
    `${printed.stdout}${printed.stderr}`.replaceAll(home, '{user}').replace(/^ERROR: {2}/gm, '')
  if (args[0] === 'api' || ((mistake.offline || isServer) && mistake.until === undefined)) {
    const result = await host.run(args, { env })
    assert.equal(result.code, 1, mistake.line)
    return show(result)
  }
  const program = startProgram(t, args, { env })
  if (mistake.until !== undefined) {
    while (!program.stdout.includes(mistake.until)) await once(program.child.stdout!, 'data')
    program.child.kill('SIGKILL')
  }
  const code = await program.waitForExit()
  if (mistake.until === undefined) assert.equal(code, 1, mistake.line)
  return show(program)
}
