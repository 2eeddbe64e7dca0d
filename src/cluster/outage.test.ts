import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { eventually } from '../../test/support/eventually.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import { startRelay } from '../../test/support/relay.ts'
import { createTempDir } from '../../test/support/temp-dir.ts'
import { silentLog } from '../base/process/log.ts'
import { systemClock } from '../base/values/clock.ts'
import { openNodes, openStore } from '../store/index.ts'
import { session, startNode, tunnelSpec } from './testing/node.ts'

/** A sixth of the production limits: rows live for 1 s. */
const LIMITS = { beatMs: 170, renewMs: 330, silenceMs: 1000 }
const NAMES = ['one', 'two', 'three']

/** What the nodes of a cluster have in common. */
interface Cluster {
  readonly url: string
  readonly masterKeyFile: string
}

/** One node's membership list on a database that can become unavailable. */
async function openList(t: TestContext, { url, masterKeyFile }: Cluster) {
  const dataDir = createTempDir()
  const store = await openStore({ dataDir, url, masterKeyFile, clock: systemClock, log: silentLog })
  t.after(() => store.close())
  const nodes = openNodes(store)
  const beats = { done: 0 }
  return {
    ...nodes,
    beats,
    async heartbeat(...args: Parameters<typeof nodes.heartbeat>) {
      const peers = await nodes.heartbeat(...args)
      beats.done++
      return peers
    },
  }
}

/** A node with one session and one tunnel. */
async function startBoundNode(t: TestContext, cluster: Cluster, name: string) {
  const list = await openList(t, cluster)
  const node = await startNode(t, list, name, { limits: LIMITS })
  const agentSession = session(`ts_${name}`)
  node.registry.addSession(agentSession)
  node.registry.bind(agentSession, tunnelSpec(name))
  return { ...node, agentSession, list }
}

/** The ways the database becomes unavailable and recovers. */
const outages: Record<string, (t: TestContext) => Promise<Outage>> = {
  async stopped(t) {
    const postgres = await startPostgres()
    t.after(() => postgres.dispose())
    return { url: postgres.url, begin: () => postgres.stop(), end: () => postgres.start() }
  },
  async 'cut off'(t) {
    const postgres = await startPostgres()
    t.after(() => postgres.dispose())
    const url = new URL(postgres.url)
    const relay = await startRelay(t, Number(url.port))
    url.port = String(relay.port)
    return { url: url.href, begin: async () => relay.freeze(), end: async () => relay.thaw() }
  },
}

interface Outage {
  readonly url: string
  begin(): Promise<void>
  end(): Promise<void>
}

// At the same time: most of each test is waiting.
describe('three nodes lose no session and no route', { concurrency: true }, () => {
  for (const [manner, create] of Object.entries(outages))
    test(`while their database is ${manner}`, async (t) => {
      const outage = await create(t)
      const keyDir = createTempDir()
      const cluster = { url: outage.url, masterKeyFile: join(keyDir, 'master.key') }
      const nodes: Awaited<ReturnType<typeof startBoundNode>>[] = []
      for (const name of NAMES) nodes.push(await startBoundNode(t, cluster, name))
      const missing = () =>
        nodes.flatMap(({ id, registry }) =>
          NAMES.filter(
            (name) => registry.directory.atHost('http', `${name}.example.com`)?.current === undefined,
          ).map((name) => `${name} at ${id}`),
        )
      await eventually(() => missing().length === 0, 'every node knows every tunnel')
      const tunnels = () =>
        nodes.flatMap(({ registry }) =>
          NAMES.map((name) => registry.directory.atHost('http', `${name}.example.com`)?.current),
        )
      const initialTunnels = tunnels()

      for (const lasting of [500, 2000])
        await t.test(`for ${lasting / LIMITS.silenceMs} row lifetimes`, async (t) => {
          const watching = watch(missing)
          t.after(watching.stop)

          await outage.begin()
          await delay(lasting)
          await outage.end()
          // Long enough for the list to be stable again, and for nodes to act on it.
          const settled = nodes.map(({ list }) => list.beats.done + (3 * LIMITS.silenceMs) / LIMITS.renewMs)
          await eventually(
            () => nodes.every(({ list }, index) => list.beats.done >= settled[index]!),
            'nodes beat again',
          )

          assert.deepEqual(watching.stop(), [])
          assert.deepEqual(
            nodes.flatMap(({ agentSession }) => agentSession.ended),
            [],
          )
          assert.ok(
            tunnels().every((tunnel, index) => tunnel === initialTunnels[index]),
            'links stayed up, so each node still has the same remote tunnels',
          )
        })
    })
})

/** Polls continuously and returns every name that was ever missing. */
function watch(missing: () => string[]) {
  const missingNames = new Set<string>()
  const timer = setInterval(() => {
    for (const name of missing()) missingNames.add(name)
  }, 5)
  return {
    stop() {
      clearInterval(timer)
      return [...missingNames]
    },
  }
}
