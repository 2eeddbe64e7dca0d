import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startLoadedServer, startUpgrade, startWork } from '../support/upgrade.ts'

const REQUESTS_PER_SECOND = Number(process.env.LONG_RATE ?? 200)
const UPGRADES = Number(process.env.LONG_UPGRADES ?? 10)
const PAUSE_MS = 2000
/** How long the slow request and the upload take after the hand-over. */
const WORK_MS = 10_000

for (const workers of [1, 2])
  test(`${UPGRADES} upgrades of a node with ${workers} workers at ${REQUESTS_PER_SECOND} requests/s: none fails`, async (t) => {
    const { dataDir, service, port, load } = await startLoadedServer(t, {
      perSecond: REQUESTS_PER_SECOND,
      workers,
    })
    for (let count = 0; count < UPGRADES; count++) {
      await delay(PAUSE_MS)
      const work = await startWork(port, service)
      const upgrade = startUpgrade(t, dataDir)
      await upgrade.takenOver()
      await delay(WORK_MS)
      assert.deepEqual(await work.finish(), { slow: '200', upload: 200, webSocket: 1001 })
      assert.equal(await upgrade.waitForExit(), 0, upgrade.stderr)
    }
    await delay(PAUSE_MS)
    const { total, failed, counts } = await load.stop()

    t.diagnostic(JSON.stringify(counts))
    assert.equal(failed, 0, `${failed} of ${total} failed: ${JSON.stringify(counts)}`)
  })
