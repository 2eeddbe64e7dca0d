import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { freshDatabase } from '../../test/support/postgres.ts'
import { systemClock } from '../base/clock.ts'
import { silentLog } from '../base/log.ts'
import { openNodes, openStore } from './index.ts'

async function createNodes(t: TestContext, url?: string) {
  const dataDir = mkdtempSync(join(tmpdir(), 'adit-nodes-'))
  const options = { dataDir, url, masterKeyFile: join(dataDir, 'master.key') }
  const store = await openStore({ ...options, clock: systemClock, log: silentLog })
  t.after(async () => {
    await store.close()
    rmSync(dataDir, { recursive: true, force: true })
  })
  return openNodes(store)
}

const engines = {
  sqlite: createNodes,
  postgres: async (t: TestContext) => createNodes(t, (await freshDatabase(t)).url),
}

for (const [engine, create] of Object.entries(engines)) {
  test(`${engine}: nodes see each other, at the address they said last, until they leave`, async (t) => {
    const nodes = await create(t)
    await nodes.beat({ id: 'a', address: '192.0.2.1:1' }, 60_000)
    await nodes.beat({ id: 'a', address: '192.0.2.1:2' }, 60_000)

    const seen = await nodes.beat({ id: 'b', address: undefined }, 60_000)
    await nodes.leave('a')

    assert.deepEqual(seen, [{ id: 'a', address: '192.0.2.1:2' }])
    assert.deepEqual(await nodes.beat({ id: 'b', address: undefined }, 60_000), [])
    assert.deepEqual(await nodes.beat({ id: 'a', address: '192.0.2.1:2' }, 60_000), [], 'b offers nothing')
  })

  test(`${engine}: a node that has not been heard of for its time is gone`, async (t) => {
    const nodes = await create(t)
    const others = () => nodes.beat({ id: 'b', address: undefined }, 60_000)
    await nodes.beat({ id: 'a', address: '192.0.2.1:1' }, 20)

    const deadline = performance.now() + 5000
    while ((await others()).length > 0 && performance.now() < deadline) await delay(5)

    assert.deepEqual(await others(), [])
  })
}
