import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { tempDir } from '../../test/support/api.ts'
import { startCommandHost } from '../../test/support/command-host.ts'
import type { CommandResult } from '../../test/support/command-host-process.ts'
import { findFreePorts } from '../../test/support/free-ports.ts'

const LISTENERS = ['api', 'http', 'https', 'agent', 'ssh', 'dns', 'peer']
const READY = 'Adit is ready.'

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
    const ended = await start(['--data-dir', dataDir, ...flags])

    assert.ok(!ended.stdout.includes(READY), taken)
    assertOneSentence(ended, /is in use by another program/)
    await assertFree(ports)
  }
})

test('a failpoint is ignored outside of tests', async (t) => {
  const dataDir = await tempDir(t)
  const flags = ['--data-dir', dataDir, ...LISTENERS.flatMap((name) => [`--${name}-addr`, '127.0.0.1:0'])]

  const ended = await start(flags, { TEST_FAILPOINT: 'server.start:1:throw' })

  assert.ok(ended.stdout.includes(READY), ended.stderr)
  assert.ok((await readFile(join(dataDir, 'credentials.json'), 'utf8')).length > 0)
})
