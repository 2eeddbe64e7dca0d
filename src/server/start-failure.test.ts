import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { startCommandHost } from '../../test/support/command-host.ts'
import type { CommandResult } from '../../test/support/command-host-process.ts'
import { findFreePorts } from '../../test/support/free-ports.ts'
import { createTempDir } from '../../test/support/temp-dir.ts'

const LISTENERS = ['api', 'http', 'https', 'agent', 'ssh', 'dns', 'peer']
const READY = 'Adit is ready.'
const PROGRAM = join(import.meta.dirname, '../cli.ts')

// One process for all starts: after a failed one it still lives, so it must have closed its listeners itself.
const host = startCommandHost()
after(() => host.stop())

/** Starts a server until it fails, or stops it once it is ready. */
function start(flags: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<CommandResult> {
  return host.run(['server', '--log-level', 'silent', ...flags], { env, stopAfter: READY })
}

function assertOneSentence({ code, stderr: errors }: CommandResult, sentence: RegExp): void {
  assert.equal(code, 1, errors)
  assert.match(errors, sentence)
  assert.doesNotMatch(errors, /cleanup/)
  const sentences = errors.split('\n').filter((line) => line !== '')
  assert.equal(sentences.length, 1, errors)
}

async function assertFree(ports: readonly number[]): Promise<void> {
  for (const port of ports) {
    const server = createServer().listen(port, '127.0.0.1')
    await once(server, 'listening')
    await once(server.close(), 'close')
  }
}

test('a start that fails after any component exits with 1 and one sentence, and leaves no listener', async (t) => {
  const dataDir = createTempDir()
  const first = await findFreePorts(LISTENERS.length)
  const ports = LISTENERS.map((_, index) => first + index)
  const flags = [
    '--data-dir',
    dataDir,
    ...LISTENERS.flatMap((name, index) => [`--${name}-addr`, `127.0.0.1:${ports[index]}`]),
  ]
  let failures = 0
  for (;;) {
    const ended = await start(flags, {
      NODE_ENV: 'test',
      TEST_FAILPOINT: `server.start:${failures + 1}:throw`,
    })
    if (ended.stdout.includes(READY)) {
      assert.equal(ended.code, 0)
      break
    }
    failures += 1
    assertOneSentence(ended, /^ERROR: {2}The failpoint server\.start was reached\.$/m)
    await assertFree(ports)
  }

  t.diagnostic(`${failures} places`)
  assert.ok(failures > LISTENERS.length)
})

test('a start with one address in use exits with 1 and releases the others', async (t) => {
  const dataDir = createTempDir()
  const busy = createServer().listen(0, '127.0.0.1')
  await once(busy, 'listening')
  t.after(() => busy.close())
  const { port: busyPort } = busy.address() as { port: number }
  const first = await findFreePorts(LISTENERS.length)
  const ports = LISTENERS.map((_, index) => first + index)

  for (const taken of LISTENERS) {
    const flags = LISTENERS.flatMap((name, index) => [
      `--${name}-addr`,
      `127.0.0.1:${name === taken ? busyPort : ports[index]}`,
    ])
    const ended = await start(['--data-dir', dataDir, ...flags])

    assert.ok(!ended.stdout.includes(READY), taken)
    assertOneSentence(ended, /is in use by another program/)
    await assertFree(ports)
  }
})

test('a signal ends a start that hangs', async (t) => {
  const dataDir = createTempDir()
  const pipe = join(dataDir, 'oauth.json')
  execFileSync('mkfifo', [pipe])
  const addresses = LISTENERS.flatMap((name) => [`--${name}-addr`, '127.0.0.1:0'])
  const flags = ['--log-level', 'silent', '--data-dir', dataDir, '--oauth-endpoints', pipe, ...addresses]
  // A process of its own, since it is killed.
  const child = spawn(process.execPath, [PROGRAM, 'server', ...flags], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  const errors = text(child.stderr)
  // Opens when the server reads, which then waits for content.
  const writer = await open(pipe, 'w')
  t.after(() => writer.close())

  child.kill('SIGTERM')

  const [code] = await once(child, 'close')
  assert.equal(code, null)
  assert.equal(await errors, 'ERROR:  not everything had stopped 5 seconds after the signal.\n')
})

test('a failpoint is ignored outside of tests', async () => {
  const dataDir = createTempDir()
  const flags = ['--data-dir', dataDir, ...LISTENERS.flatMap((name) => [`--${name}-addr`, '127.0.0.1:0'])]

  const ended = await start(flags, { TEST_FAILPOINT: 'server.start:1:throw' })

  assert.ok(ended.stdout.includes(READY), ended.stderr)
  assert.ok((await readFile(join(dataDir, 'credentials.json'), 'utf8')).length > 0)
})
