import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createClient } from '../../../test/support/api.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { startServerProcess } from '../../../test/support/server-process.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { findWorker } from '../../../test/support/worker-processes.ts'

async function startWorkers(t: TestContext, environment: Readonly<Record<string, string>> = {}) {
  const server = await startServerProcess(t, createTempDir(), ['--workers', '2'], { environment })
  return {
    ...server,
    call: createClient(server.url, server.apiKey),
    readiness: async () => {
      const response = await fetch(`${server.url}/readyz`)
      return `${response.status} ${await response.text()}`
    },
  }
}

/** Lets a signal keep the event loop of a process busy for ever. */
async function busyOnSignal(): Promise<Record<string, string>> {
  const file = join(createTempDir(), 'busy.mjs')
  await writeFile(file, "process.on('SIGUSR2', () => { for (;;); })")
  return { NODE_OPTIONS: `--import=${file}` }
}

for (const [name, signal, environment] of [
  ['is stopped', 'SIGSTOP', {}],
  ['computes without end', 'SIGUSR2', await busyOnSignal()],
] as const)
  test(`a worker that ${name} is noticed, shown and replaced`, async (t) => {
    const server = await startWorkers(t, environment)
    const hanging = findWorker(server.pid, 1)!

    process.kill(hanging, signal)

    const whileSilent = await eventually(async () => {
      const readiness = await server.readiness()
      return readiness.startsWith('503') && readiness
    }, 'the server is not ready while a worker hangs')
    assert.match(whileSilent, /Worker 1 has not responded for \d+ s/)
    const { body: metrics } = await server.call('GET', '/metrics')
    assert.match(String(metrics), /^adit_worker_silent_seconds\{worker="1"\} [1-9]/m)
    assert.match(String(metrics), /^adit_worker_silent_seconds\{worker="2"\} 0$/m)
    await eventually(() => server.output().includes('worker is back'), 'the worker is replaced')
    assert.match(
      server.output(),
      new RegExp(`"worker":1,"pid":${hanging},.*worker does not respond: ending it`),
    )
    await eventually(async () => (await server.readiness()).startsWith('200'), 'the server is ready')
    const { body: later } = await server.call('GET', '/metrics')
    assert.match(String(later), /^adit_worker_restarts_total\{worker="1",reason="hang"\} 1$/m)
    assert.equal(await server.stop(), 0)
  })

test('a server stops although a worker hangs', async (t) => {
  const server = await startWorkers(t)
  process.kill(findWorker(server.pid, 2)!, 'SIGSTOP')

  assert.equal(await server.stop(), 0)
  assert.match(server.output(), /"worker":2,.*worker does not respond: ending it/)
})
