import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventuallyEqual } from '../../../test/support/eventually.ts'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { silentLog } from '../../base/process/log.ts'
import { systemClock } from '../../base/values/clock.ts'
import { openNodes, openStore } from '../index.ts'

async function createNodes(t: TestContext, url?: string) {
  const dataDir = createTempDir()
  const options = { dataDir, url, masterKeyFile: join(dataDir, 'master.key') }
  const store = await openStore({ ...options, clock: systemClock, log: silentLog })
  t.after(() => store.close())
  return openNodes(store)
}

const engines = {
  sqlite: createNodes,
  postgres: async (t: TestContext) => createNodes(t, (await createTestDatabase(t)).url),
}

const TIMES = { ttlMs: 60_000, expire: true }

for (const [engine, create] of Object.entries(engines)) {
  test(`${engine}: nodes see each other, at the latest address, until they leave`, async (t) => {
    const nodes = await create(t)
    await nodes.heartbeat({ id: 'a', address: '192.0.2.1:1' }, TIMES)
    await nodes.heartbeat({ id: 'a', address: '192.0.2.1:2' }, TIMES)

    const seen = await nodes.heartbeat({ id: 'b', address: undefined }, TIMES)
    await nodes.leave('a')

    assert.deepEqual(seen, [{ id: 'a', address: '192.0.2.1:2', agentAddress: undefined }])
    assert.deepEqual(await nodes.heartbeat({ id: 'b', address: undefined }, TIMES), [])
    assert.deepEqual(
      await nodes.heartbeat({ id: 'a', address: '192.0.2.1:2' }, TIMES),
      [],
      'b has no address',
    )
  })

  test(`${engine}: a node that does not renew its registration expires`, async (t) => {
    const nodes = await create(t)
    const others = () => nodes.heartbeat({ id: 'b', address: undefined }, TIMES)
    await nodes.heartbeat({ id: 'a', address: '192.0.2.1:1' }, { ttlMs: 20, expire: true })

    await eventuallyEqual(others, [])
  })

  test(`${engine}: an expired node stays listed until a heartbeat may expire nodes`, async (t) => {
    const nodes = await create(t)
    const agentAddress = 'one.example.com:4443'
    await nodes.heartbeat({ id: 'a', address: '192.0.2.1:1', agentAddress }, { ttlMs: -1, expire: false })

    const unexpired = await nodes.heartbeat({ id: 'b', address: undefined }, { ...TIMES, expire: false })
    const expired = await nodes.heartbeat({ id: 'b', address: undefined }, TIMES)

    assert.deepEqual(unexpired, [{ id: 'a', address: '192.0.2.1:1', agentAddress }])
    assert.deepEqual(expired, [])
  })
}
