import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../test/support/eventually.ts'
import { createTestDatabase } from '../../test/support/postgres.ts'
import { createTempDir } from '../../test/support/temp-dir.ts'
import { systemClock } from '../base/values/clock.ts'
import { IpPolicy } from '../resources/index.ts'
import { ACCOUNT, createTestEvents, createWriter, openTestStore } from './testing/platform.ts'
import { startSink } from './testing/sink.ts'

test('on PostgreSQL two processes deliver every event once, and one continues after the other stops', async (t) => {
  const { url } = await createTestDatabase(t)
  const dataDir = createTempDir()
  const store = await openTestStore(t, systemClock, { url, dataDir })
  const other = await openTestStore(t, systemClock, { url, dataDir })
  const ids = new Map<string, string>()
  const sink = await startSink(t, ({ body }) => {
    const { event_id, object } = JSON.parse(body.toString())
    ids.set(event_id, object.id ?? object.name)
    return { status: 204 }
  })
  const one = createTestEvents(t, store, systemClock, { limits: { leaseMs: 600 } })
  const two = createTestEvents(t, other, systemClock, { limits: { leaseMs: 600 } })
  const writer = createWriter(store)
  const destination = await writer.webhook(sink.url)
  await writer.subscribe([destination], 'ip_policy_created.v0', 'tunnel_start.v0')
  await Promise.all([one.start(), two.start()])
  await eventually(() => two.hasSubscribers('tunnel_start.v0', ACCOUNT))

  for (let index = 0; index < 50; index++) await writer.create(IpPolicy, {})
  for (const [name, events] of [
    ['from one', one],
    ['from two', two],
  ] as const)
    events.emit({ type: 'tunnel_start.v0', accountId: ACCOUNT, sequence: 1, object: { name } })
  await eventually(() => ids.size === 52)
  await one.stop()
  for (let index = 0; index < 50; index++) await createWriter(other).create(IpPolicy, {})

  await eventually(() => ids.size === 102)
  assert.equal(new Set(ids.values()).size, 102)
})
