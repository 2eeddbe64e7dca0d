import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { tempDir } from '../../test/support/api.ts'
import { findFreePorts } from '../../test/support/free-ports.ts'

const adit = join(import.meta.dirname, '..', '..', 'bin', 'adit')
const LISTENERS = ['api', 'http', 'https', 'agent', 'ssh', 'dns', 'peer']

interface ExitResult {
  readonly code: number | null
  readonly errors: string
}

/** Starts a server; `outcome` is its exit, or `ready` once it serves. */
async function start(
  t: TestContext,
  flags: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<{ child: ChildProcess; outcome: Promise<ExitResult | 'ready'> }> {
  const child = spawn(adit, ['server', '--log-level', 'error', ...flags], {
    env: { PATH: process.env.PATH, ...environment } as NodeJS.ProcessEnv,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  let [output, errors] = ['', '']
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    errors += chunk
  })
  const ready = new Promise<'ready'>((resolve) =>
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
      if (output.includes('Adit is ready.')) resolve('ready')
    }),
  )
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, errors }))
  return { child, outcome: Promise.race([ready, ended]) }
}

function assertOneSentence({ code, errors }: ExitResult, sentence: RegExp): void {
  assert.equal(code, 1, errors)
  assert.match(errors, sentence)
  assert.doesNotMatch(errors, /cleanup/)
  const sentences = errors.split('\n').filter((line) => line !== '' && !line.startsWith('{'))
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
  const dataDir = await tempDir(t)
  const first = await findFreePorts(LISTENERS.length)
  const ports = LISTENERS.map((_, index) => first + index)
  const flags = [
    '--data-dir',
    dataDir,
    ...LISTENERS.flatMap((name, index) => [`--${name}-addr`, `127.0.0.1:${ports[index]}`]),
  ]
  let failures = 0
  for (;;) {
    const { child, outcome } = await start(t, flags, {
      NODE_ENV: 'test',
      TEST_FAILPOINT: `server.start:${failures + 1}:throw`,
    })
    const ended = await outcome
    if (ended === 'ready') {
      child.kill('SIGTERM')
      assert.equal((await once(child, 'exit'))[0], 0)
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
  const dataDir = await tempDir(t)
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
    const { outcome } = await start(t, ['--data-dir', dataDir, ...flags])
    const ended = await outcome

    assert.notEqual(ended, 'ready', taken)
    assertOneSentence(ended as ExitResult, /is in use by another program/)
    await assertFree(ports)
  }
})

test('a failpoint is ignored outside of tests', async (t) => {
  const dataDir = await tempDir(t)
  const flags = ['--data-dir', dataDir, ...LISTENERS.flatMap((name) => [`--${name}-addr`, '127.0.0.1:0'])]

  const { outcome } = await start(t, flags, { TEST_FAILPOINT: 'server.start:1:throw' })

  assert.equal(await outcome, 'ready')
  assert.ok((await readFile(join(dataDir, 'credentials.json'), 'utf8')).length > 0)
})
