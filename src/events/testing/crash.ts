import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { createRandom } from '../../../test/support/random.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { systemClock } from '../../base/values/clock.ts'
import type { DurableStore } from '../../store/index.ts'
import { createTestEvents, createWriter, openTestStore } from './platform.ts'
import { startSink } from './sink.ts'

const TIMEOUT_MS = 120_000

/**
 * Kills a process `kills` times while it commits and delivers `count` events to a receiver that fails 30 % of them, and
 * asserts that each event arrives.
 */
export async function assertDeliveredDespiteKills(
  t: TestContext,
  count: number,
  kills: number,
): Promise<void> {
  const random = createRandom()
  t.diagnostic(`seed ${random.seed}`)
  const received = new Map<string, Set<string>>()
  const sink = await startSink(t, ({ headers, body }) => {
    if (random.below(100) < 30) return { status: random.pick([500, 429, 503]) }
    const { object } = JSON.parse(body.toString())
    received.set(object.id, (received.get(object.id) ?? new Set()).add(headers['webhook-id']!))
    return { status: 204 }
  })
  const dataDir = createTempDir()
  const store = await openTestStore(t, systemClock, { dataDir })
  const operator = createTestEvents(t, store, systemClock)
  const writer = createWriter(store)
  const destination = await writer.webhook(sink.url)
  await writer.subscribe([destination], 'ip_policy_created.v0')

  let committed = 0
  let numbered = 0
  for (let life = 0; life <= kills; life++) {
    const remaining = count - committed
    const child = fork(join(import.meta.dirname, 'deliverer.fixture.ts'), [
      dataDir,
      String(numbered),
      String(numbered + remaining),
    ])
    t.after(() => child.kill('SIGKILL'))
    child.on('message', (number: number) => {
      committed += 1
      numbered = Math.max(numbered, number + 1)
    })
    if (life < kills) {
      // At any moment: while changes are committed, events are sent, or results are settled.
      const share = remaining / (kills + 1 - life)
      const killAt = committed + 1 + random.below(share)
      await eventually(() => committed >= killAt, 'the deliverer commits', TIMEOUT_MS)
      child.kill('SIGKILL')
      await once(child, 'exit')
    } else {
      await eventually(() => committed >= count, 'all events are committed', TIMEOUT_MS)
      await eventually(
        async () => {
          await operator.replay(destination)
          const state = (await operator.states())[0]
          return state?.queued === 0 && state.dead === 0 && received.size >= count
        },
        'all events arrive',
        TIMEOUT_MS,
      )
    }
  }

  const rows = await allPolicies(store)
  assert.ok(rows.length >= count)
  assert.deepEqual(
    rows.filter((id) => !received.has(id)),
    [],
  )
  // Possibly sent more than once, but always with the same event id.
  assert.deepEqual(
    [...received.values()].filter((ids) => ids.size !== 1),
    [],
  )
}

async function allPolicies(store: DurableStore): Promise<string[]> {
  const ids: string[] = []
  for (;;) {
    const page = await store.scan('ip_policies', { limit: 1000, after: ids.at(-1) })
    ids.push(...page.map(({ id }) => id))
    if (page.length < 1000) return ids
  }
}
