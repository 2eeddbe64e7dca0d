import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { silentLog } from '../../base/process/log.ts'
import { systemClock } from '../../base/values/clock.ts'
import {
  type NameClaimRequest,
  type NameClaimRows,
  type NameSpans,
  openNameClaims,
  openStore,
} from '../index.ts'
import { nameClaim } from '../testing/name-claim.ts'

const NODE = { id: 'node-a/1', leaseMs: 60_000 }
const OTHER = { id: 'node-b/1', leaseMs: 60_000 }
const SPANS: NameSpans = { graceMs: 60_000, cooldownMs: 86_400_000 }
const NO_HOLD: NameSpans = { graceMs: 0, cooldownMs: 0 }

async function createClaims(t: TestContext, url?: string) {
  const dataDir = createTempDir()
  const options = { dataDir, url, masterKeyFile: join(dataDir, 'master.key') }
  const store = await openStore({ ...options, clock: systemClock, log: silentLog })
  t.after(() => store.close())
  const rows = openNameClaims(store)
  for (const node of [NODE, OTHER]) await rows.join(node, node.id)
  return { rows, store }
}

const engines = {
  sqlite: createClaims,
  postgres: async (t: TestContext) => createClaims(t, (await createTestDatabase(t)).url),
}

/** A claim of a new agent on the same name, with changes. */
const request = (changes: Partial<NameClaimRequest> = {}) => nameClaim({ name: 'test.adit.app', ...changes })

/** `granted`, or the reason of the rejection. */
async function claim(rows: NameClaimRows, requested: NameClaimRequest, spans = SPANS, node = NODE) {
  const { outcomes } = await rows.change(node, { claims: [requested], releases: [] }, spans)
  return outcomes[0]!.granted ? 'granted' : outcomes[0]!.reason
}

const release = (rows: NameClaimRows, { tunnel }: NameClaimRequest, inGrace = false) =>
  rows.change(NODE, { claims: [], releases: [{ tunnel, inGrace }] }, SPANS)

for (const [engine, create] of Object.entries(engines)) {
  test(`${engine}: one of many claims on a name is granted, in one batch or several`, async (t) => {
    const { rows } = await create(t)
    const batch = () => Array.from({ length: 20 }, () => request({ credential: `cr_${randomUUID()}` }))

    const results = await Promise.all(
      [NODE, OTHER, NODE, OTHER].map((node) => rows.change(node, { claims: batch(), releases: [] }, SPANS)),
    )

    const granted = results.flatMap(({ outcomes }) => outcomes).filter((outcome) => outcome.granted)
    assert.equal(granted.length, 1)
  })

  test(`${engine}: fences grow with every claim and stay the same for a repeated claim`, async (t) => {
    const { rows } = await create(t)
    const first = request({ name: 'test.adit.one' })
    const fenceOf = async (requested: NameClaimRequest) => {
      const { outcomes } = await rows.change(NODE, { claims: [requested], releases: [] }, SPANS)
      return outcomes[0]!.granted ? outcomes[0]!.fence : 0
    }

    const fence = await fenceOf(first)
    const other = await fenceOf(request({ name: 'test.adit.two' }))

    assert.ok(fence > 0 && other > fence)
    assert.equal(await fenceOf(first), fence)
  })

  test(`${engine}: an agent reclaims its name immediately, also on another node`, async (t) => {
    const { rows } = await create(t)
    const before = request()
    await claim(rows, before)

    assert.equal(await claim(rows, request(), SPANS, OTHER), 'held')
    const reconnected = request({ client: before.client })
    assert.equal(await claim(rows, reconnected, SPANS, OTHER), 'granted')

    await release(rows, before)
    assert.equal(await claim(rows, request()), 'held', 'releasing the previous tunnel does not free the name')
  })

  test(`${engine}: only pooled tunnels of one account share a name`, async (t) => {
    const { rows } = await create(t)
    const pooled = () => request({ pooled: true })
    await claim(rows, pooled())

    assert.equal(await claim(rows, pooled(), SPANS, OTHER), 'granted')
    assert.equal(await claim(rows, request()), 'held')
    assert.equal(await claim(rows, { ...pooled(), proto: 'tls' }), 'held')
    assert.equal(await claim(rows, { ...pooled(), account: 'ac_2' }), 'held')
  })

  test(`${engine}: after a tunnel stops pooling, later claims on its name are rejected`, async (t) => {
    const { rows } = await create(t)
    const first = request({ pooled: true })
    await claim(rows, first)

    await rows.setPooled(first.tunnel, false)

    assert.equal(await claim(rows, request({ pooled: true })), 'held')
  })

  test(`${engine}: a name is reserved against other accounts on every listener`, async (t) => {
    const { rows } = await create(t)
    await claim(rows, request())

    assert.equal(await claim(rows, request({ listener: 'http', proto: 'http' })), 'granted')
    assert.equal(await claim(rows, request({ account: 'ac_2', listener: 'http' })), 'held')
  })

  test(`${engine}: a released name is available to its account immediately and to others after the cooldown`, async (t) => {
    const { rows } = await create(t)
    const first = request()
    await claim(rows, first)
    await release(rows, first)

    assert.equal(await claim(rows, request({ account: 'ac_2' })), 'cooldown')
    assert.equal(await claim(rows, request({ credential: 'cr_2' })), 'granted')
    const second = request({ name: 'test.adit.two' })
    await claim(rows, second)
    await release(rows, second)
    assert.equal(await claim(rows, { ...second, account: 'ac_2' }, NO_HOLD), 'granted')
  })

  test(`${engine}: the name of a lost session is reserved for its credential`, async (t) => {
    const { rows } = await create(t)
    const disconnected = request()
    await claim(rows, disconnected)
    await release(rows, disconnected, true)

    const noCooldown = { ...SPANS, cooldownMs: 0 }
    assert.equal(await claim(rows, request({ credential: 'cr_2' })), 'in_grace')
    assert.equal(await claim(rows, request({ account: 'ac_2' }), noCooldown), 'cooldown')
    await rows.forgetCredential('cr_1')
    assert.equal(await claim(rows, request({ credential: 'cr_2' })), 'granted')
  })

  test(`${engine}: names of a node whose lease expired are reserved for their credentials`, async (t) => {
    const { rows } = await create(t)
    const dying = { id: 'node-c/1', leaseMs: 0 }
    await rows.join(dying, 'node-c/')
    const held = request()
    await claim(rows, held, SPANS, dying)

    assert.equal(await claim(rows, request({ account: 'ac_2' })), 'cooldown')
    assert.equal(await claim(rows, request({ credential: 'cr_2' })), 'in_grace')
    assert.equal(await claim(rows, request()), 'granted')
    assert.deepEqual(await rows.renew(dying), { lost: true })
    assert.equal(
      await claim(rows, held, SPANS, dying),
      'held',
      'a name that went to another agent is not reclaimed',
    )
  })

  test(`${engine}: the grace period for the names of a dead node does not restart with every claim`, async (t) => {
    const { rows, store } = await create(t)
    const dying = { id: 'node-c/1', leaseMs: 0 }
    await rows.join(dying, 'node-c/')
    await claim(rows, request(), SPANS, dying)
    assert.equal(await claim(rows, request({ credential: 'cr_2' })), 'in_grace')

    await store.inTransaction(async (sql) =>
      sql.run('UPDATE name_claims SET released_at = released_at - 60000'),
    )

    assert.equal(await claim(rows, request({ credential: 'cr_2' })), 'granted')
  })

  test(`${engine}: names of the previous process of a restarted node are reserved for their credentials`, async (t) => {
    const { rows } = await create(t)
    await claim(rows, request())

    await rows.join({ id: 'node-a/2', leaseMs: 60_000 }, 'node-a/')

    assert.equal(await claim(rows, request({ credential: 'cr_2' })), 'in_grace')
    assert.equal(await claim(rows, request()), 'granted')
  })

  test(`${engine}: a node that leaves releases all its names`, async (t) => {
    const { rows } = await create(t)
    await claim(rows, request())

    await rows.leave(NODE)

    assert.equal(await claim(rows, request(), SPANS, OTHER), 'granted')
  })

  test(`${engine}: free ports that the account used before are listed apart from unavailable ports`, async (t) => {
    const { rows } = await create(t)
    const port = (number: number, account: string) =>
      request({ name: `tcp:${number}`, listener: 'tcp', proto: 'tcp', account })
    const [mine, theirs, online] = [port(20_001, 'ac_1'), port(20_002, 'ac_2'), port(20_003, 'ac_1')]
    for (const each of [mine, theirs, online]) await claim(rows, each)
    for (const each of [mine, theirs]) await release(rows, each)

    const { reusable, unavailable } = await rows.ports('ac_1', SPANS)

    assert.deepEqual(reusable, [20_001])
    assert.deepEqual(unavailable.sort(), [20_002, 20_003])
  })

  test(`${engine}: a sweep keeps names in use or in cooldown, and the newest of each account`, async (t) => {
    const { rows, store } = await create(t)
    const batch = Array.from({ length: 30 }, (_, index) => request({ name: `test.adit.n${index}` }))
    await rows.change(NODE, { claims: batch, releases: [] }, SPANS)
    for (const [index, { tunnel }] of batch.slice(0, 20).entries()) {
      await release(rows, batch[index]!)
      await store.inTransaction(async (sql) =>
        sql.run(
          'UPDATE name_claims SET released_at = released_at - ? WHERE tunnel = ?',
          (20 - index) * 1000,
          tunnel,
        ),
      )
    }
    const remaining = async () =>
      (await store.engine.reader.all('SELECT tunnel FROM name_claims')).map(({ tunnel }) => String(tunnel))

    await rows.sweep(SPANS, 100)
    assert.equal((await remaining()).length, 30)
    await rows.sweep(SPANS, 5)
    assert.deepEqual(
      new Set(await remaining()),
      new Set(batch.slice(15).map(({ tunnel }) => tunnel)),
      'the oldest beyond the limit are deleted',
    )
    await rows.sweep(NO_HOLD, 5)
    assert.equal((await remaining()).length, 10, 'names in use stay')
  })
}
