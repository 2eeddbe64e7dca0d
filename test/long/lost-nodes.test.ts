import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startHttp } from '../support/local-server.ts'
import { httpPortOf, startLeggedAgent, startNodes } from '../support/rolling-restart.ts'
import { type ServerProcess, startServerProcess } from '../support/server-process.ts'
import { startLoad } from '../support/steady-load.ts'
import { createTempDir } from '../support/temp-dir.ts'

const HOST = 'app.adit.localhost'
const REQUESTS_PER_SECOND = 200
const DURATION_S = Number(process.env.TEST_SECONDS ?? 60)

/** Sends requests to the ports in turn, calls `disturb` after a sixth of the time, and counts the outcomes. */
async function countOutcomes(t: TestContext, ports: readonly number[], disturb: () => void) {
  const load = startLoad(t, { host: HOST, perSecond: REQUESTS_PER_SECOND, ports: () => ports })
  await delay((DURATION_S * 1000) / 6)
  disturb()
  await delay((DURATION_S * 1000 * 5) / 6)
  const outcome = await load.stop()
  t.diagnostic(JSON.stringify(outcome.counts))
  return outcome
}

async function startServed(t: TestContext, server: ServerProcess) {
  const upstream = await startHttp(t, (_request, response) => response.end('served'))
  await startLeggedAgent(t, server, { upstream, host: HOST })
}

for (const [signal, maxShare] of [
  ['SIGKILL', 0.001],
  ['SIGSTOP', 0.01],
] as const)
  test(`the home of an agent gets ${signal}: the other nodes serve at least ${100 - maxShare * 100} %`, async (t) => {
    const [home, ...others] = (await startNodes(t, 3)).nodes
    await startServed(t, home!)
    const ports = others.map(httpPortOf)

    const { total, failed } = await countOutcomes(t, ports, () => process.kill(home!.pid, signal))

    assert.ok(failed <= total * maxShare, `${failed} of ${total} failed`)
  })

test('a worker that is killed fails the requests in flight at it, and no others', async (t) => {
  const server = await startServerProcess(t, createTempDir(), ['--workers', '2'])
  await startServed(t, server)
  const [worker] = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8').split(' ')

  const { total, failed } = await countOutcomes(t, [httpPortOf(server)], () =>
    process.kill(Number(worker), 'SIGKILL'),
  )

  // A tenth of a second of requests is far more than are in flight at once.
  assert.ok(failed <= REQUESTS_PER_SECOND / 10, `${failed} of ${total} failed`)
})
