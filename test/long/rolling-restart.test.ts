import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startHttp } from '../support/local-server.ts'
import { restartInTurn, startLeggedAgent, startNodes } from '../support/rolling-restart.ts'

const HOST = 'app.adit.localhost'
const REQUESTS_PER_SECOND = Number(process.env.LONG_RATE ?? 200)
const PAUSE_MS = 5000

test(`three nodes are restarted one after the other at ${REQUESTS_PER_SECOND} requests/s: none fails`, async (t) => {
  const cluster = await startNodes(t, 3)
  const upstream = await startHttp(t, (_request, response) => response.end('served'))
  await startLeggedAgent(t, cluster.nodes[0]!, { upstream, host: HOST })

  const { total, failed, counts, exitCodes } = await restartInTurn(t, cluster, {
    ...{ host: HOST, perSecond: REQUESTS_PER_SECOND },
    pause: () => delay(PAUSE_MS),
  })

  t.diagnostic(JSON.stringify(counts))
  assert.deepEqual(exitCodes, [0, 0, 0])
  assert.equal(failed, 0, `${failed} of ${total} failed: ${JSON.stringify(counts)}`)
})
