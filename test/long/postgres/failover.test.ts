import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { type TestContext, test } from 'node:test'
import { cleanEnv, runProgram } from '../../support/agent-process.ts'
import type { ApiClient } from '../../support/api.ts'
import { eventually } from '../../support/eventually.ts'
import { startHttp } from '../../support/local-server.ts'
import { startRelay } from '../../support/relay.ts'
import { startNodes } from '../../support/rolling-restart.ts'
import type { ServerProcess } from '../../support/server-process.ts'
import { portOf, startCluster, throughPort } from './cluster.ts'
import { allWell, readMetric } from './nodes.ts'
import { assertServed } from './served.ts'
import { startTraffic } from './traffic.ts'

const LOSS = 'the database has lost revisions that were seen here'

test('a failover to a synchronous standby loses nothing that was confirmed, and no visitor notices', async (t) => {
  const cluster = await startCluster(t, { synchronous: true })
  const { nodes } = await startNodes(t, 2, () => cluster.url)
  const traffic = await startTraffic(t, nodes)
  await traffic.written(150)

  await cluster.primary.kill()
  await traffic.writersRejected()
  await cluster.promote()

  await allWell(nodes)
  await traffic.history.verify(traffic.calls[0]!)
  traffic.writeAgain()
  await traffic.written(100)
  await traffic.stop()
  await traffic.history.verify(traffic.calls[1]!)
  await assertServed(nodes, cluster.standby.url, traffic.history)
  for (const { output } of nodes) assert.doesNotMatch(output(), /lost revisions|another database/)
  await verifyAudit(t, nodes[0]!, cluster.url)
})

test('a synchronous standby that is away stops writes and no visitor, and nothing is lost once it is back', async (t) => {
  const cluster = await startCluster(t, { synchronous: true })
  const { nodes } = await startNodes(t, 2, () => cluster.url)
  const traffic = await startTraffic(t, nodes)
  await traffic.written(50)

  await cluster.standby.kill()
  await traffic.writersRejected()
  await cluster.standby.start()

  await allWell(nodes)
  await traffic.history.verify(traffic.calls[0]!)
  traffic.writeAgain()
  await traffic.written(50)
  await traffic.stop()
  await traffic.history.verify(traffic.calls[1]!)
  await assertServed(nodes, cluster.primary.url, traffic.history)
})

test('after a failover to a standby that was behind, every node serves what that has, and says what was lost', async (t) => {
  const cluster = await startCluster(t)
  const { nodes } = await startNodes(t, 2, () => cluster.url, ['--outbound-allow', '127.0.0.1'])
  const traffic = await startTraffic(t, nodes)
  const [call] = traffic.calls
  const losses = await subscribeToLosses(t, call!)
  await traffic.written(100)

  cluster.replication.freeze()
  await traffic.written(100)
  await cluster.primary.kill()
  await traffic.writersRejected()
  await cluster.promote()

  await allWell(nodes)
  const lost = await traffic.history.reconcile(call!)
  for (const kind of ['lost', 'restored after deletion', 'stale'])
    assert.ok(
      lost.some((difference) => difference.startsWith(`${kind}: `)),
      `${kind} ${lost}`,
    )
  await assertServed(nodes, cluster.standby.url, traffic.history)
  traffic.writeAgain()
  await traffic.written(150)
  await traffic.stop()
  await traffic.history.verify(call!)
  await assertServed(nodes, cluster.standby.url, traffic.history)
  for (const [index, { output }] of nodes.entries()) {
    assertOneLoss(output())
    assert.ok((await readMetric(traffic.calls[index]!, 'adit_lost_revisions_total')) >= 90)
  }
  await eventually(() => losses.length === nodes.length, 'each node sends an event')
  await verifyAudit(t, nodes[0]!, cluster.url)
})

test('a node that comes back once others have overtaken the lost revisions loads everything again', async (t) => {
  const cluster = await startCluster(t)
  const { primary, standby } = cluster
  const relays = [await startRelay(t, portOf(primary)), await startRelay(t, portOf(primary))] as const
  const { nodes } = await startNodes(t, 2, (index) => throughPort(primary.url, relays[index]!.port))
  const traffic = await startTraffic(t, nodes)
  await traffic.written(60)
  cluster.replication.freeze()
  await traffic.written(40)
  relays[1].freeze()
  await primary.kill()
  await traffic.writersRejected()

  await cluster.promote()
  for (const relay of relays) relay.target = portOf(standby)
  await allWell([nodes[0]!])
  await traffic.history.reconcile(traffic.calls[0]!)
  traffic.writeAgain([traffic.calls[0]!])
  await traffic.written(100)
  relays[1].thaw()
  relays[1].cut()

  await allWell(nodes)
  await traffic.stop()
  await traffic.history.verify(traffic.calls[1]!)
  await assertServed(nodes, standby.url, traffic.history)
  for (const { output } of nodes) assertOneLoss(output())
})

function assertOneLoss(output: string): void {
  const lines = output.split('\n').filter((line) => line.includes(LOSS))
  assert.equal(lines.length, 1, lines.join('\n'))
}

/** What the first account is told of lost revisions. */
async function subscribeToLosses(t: TestContext, call: ApiClient): Promise<unknown[]> {
  const losses: unknown[] = []
  const port = await startHttp(t, async (request, response) => {
    losses.push(JSON.parse(Buffer.concat(await request.toArray()).toString()))
    response.end()
  })
  const webhook = { url: `http://127.0.0.1:${port}/`, secret: 'hush' }
  const { id } = await call.create('/event_destinations', { target: { webhook } })
  const sources = [{ type: 'database_revisions_lost.v0' }]
  await call.create('/event_subscriptions', { sources, destination_ids: [id] })
  return losses
}

async function verifyAudit(
  t: TestContext,
  { credentials }: ServerProcess,
  databaseUrl: string,
): Promise<void> {
  const dataDir = dirname(credentials.ca_file)
  const command = ['server', 'audit', 'verify', '--data-dir', dataDir, '--database-url', databaseUrl]
  const { code, stdout, stderr } = await runProgram(t, command, { env: cleanEnv(dataDir) })
  assert.equal(code, 0, stdout + stderr)
}
