import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually, eventuallyEqual } from '../../support/eventually.ts'
import { startRelay } from '../../support/relay.ts'
import { startNodes } from '../../support/rolling-restart.ts'
import { portOf, startCluster, throughPort } from './cluster.ts'
import { allWell, readMetric } from './nodes.ts'
import { assertServed } from './served.ts'
import { startTraffic } from './traffic.ts'

test('nodes on two databases that both accept changes say so until one is fenced, and then serve what the other has', async (t) => {
  const cluster = await startCluster(t)
  const { primary, standby } = cluster
  const relays = [await startRelay(t, portOf(primary)), await startRelay(t, portOf(primary))] as const
  const { nodes } = await startNodes(t, 2, (index) => throughPort(primary.url, relays[index]!.port))
  const traffic = await startTraffic(t, nodes)
  const [first, second] = traffic.calls
  await traffic.written(80)
  await traffic.stopWriters()

  // The standby takes over although the primary is alive, and one of two nodes follows.
  await cluster.promote()
  relays[1].target = portOf(standby)
  relays[1].cut()
  await eventually(async () => (await second!('POST', '/ip_policies', { body: {} })).status === 201)
  traffic.writeAgain([first!])
  await traffic.written(40)

  for (const [index, { url }] of nodes.entries()) {
    await eventuallyEqual(() => readMetric(traffic.calls[index]!, 'adit_database_split'), 1)
    const strict = await fetch(`${url}/readyz?strict`)
    assert.equal(strict.status, 503)
    assert.match(await strict.text(), /uses a different database/)
    assert.equal((await fetch(`${url}/readyz`)).status, 200)
    assert.match(nodes[index]!.output(), /a peer uses another database/)
  }
  await primary.kill()
  await traffic.writersRejected()
  relays[0].target = portOf(standby)
  relays[0].cut()

  await allWell(nodes)
  for (const call of traffic.calls) await eventuallyEqual(() => readMetric(call, 'adit_database_split'), 0)
  assert.ok((await traffic.history.reconcile(first!)).length > 0, 'what the primary alone had is lost')
  traffic.writeAgain()
  await traffic.written(80)
  await traffic.stop()
  await traffic.history.verify(second!)
  await assertServed(nodes, standby.url, traffic.history)
  assert.match(nodes[0]!.output(), /the database has lost revisions that were seen here/)
  assert.doesNotMatch(nodes[1]!.output(), /the database has lost revisions/)
})
