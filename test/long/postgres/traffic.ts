import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { type ApiClient, createClient } from '../../support/api.ts'
import { eventually, TIMEOUT_MS } from '../../support/eventually.ts'
import { startHttp } from '../../support/local-server.ts'
import { createRandom } from '../../support/random.ts'
import { httpPortOf, startLeggedAgent } from '../../support/rolling-restart.ts'
import type { ServerProcess } from '../../support/server-process.ts'
import { startLoad } from '../../support/steady-load.ts'
import { type Kind, WriteHistory } from '../../support/write-history.ts'

const VISITED = 'app.adit.localhost'
const VISITS_PER_SECOND = 40
const WRITERS_PER_NODE = 2
/** Between two writes of a writer, so that it leaves nodes and database room for the rest. */
const WRITE_PAUSE_MS = 10
/** The wildcard domain of the endpoints that writers create. */
const SERVED = 'served.adit.localhost'

const hostOf = (mark: string) => `${mark.replace(' ', '-')}.${SERVED}`
const answer = (body: string) =>
  JSON.stringify({ on_http_request: [{ actions: [{ type: 'custom-response', config: { body } }] }] })

/** What nodes serve: endpoints, each version of which answers with a body of its own, tokens of agents, keys and names. */
const SERVED_KINDS: readonly Kind[] = [
  {
    path: '/endpoints',
    key: 'endpoints',
    mark: 'description',
    body: (mark) => ({ url: `http://${hostOf(mark)}` }),
    change: (mark) => ({ traffic_policy: answer(mark) }),
  },
  { path: '/credentials', key: 'credentials', mark: 'description' },
  { path: '/api_keys', key: 'keys', mark: 'description' },
  {
    path: '/reserved_domains',
    key: 'reserved_domains',
    mark: 'description',
    body: (mark) => ({ domain: `${mark.replace(' ', '-')}.adit.localhost` }),
  },
]

/** Visitors and writers at every node. */
export interface Traffic {
  readonly history: WriteHistory
  /** A client of each node's API. */
  readonly calls: readonly ApiClient[]
  /** Resolves after this many further writes were acknowledged. */
  written(count: number): Promise<void>
  /** Resolves after this many further visits began. */
  visited(count: number): Promise<void>
  /** Ends writers at their next call that the database does not take, and resolves once all have seen one. */
  writersRejected(): Promise<void>
  /** Starts writers again that have ended, with these clients, by default at every node. */
  writeAgain(calls?: readonly ApiClient[]): void
  stopWriters(): Promise<void>
  /** Ends all of it, and requires that no visitor has failed. */
  stop(): Promise<void>
}

/** Starts visitors, at these ports or those of the nodes, and writers. */
export async function startTraffic(
  t: TestContext,
  nodes: readonly ServerProcess[],
  visitedPorts = nodes.map(httpPortOf),
): Promise<Traffic> {
  const random = createRandom()
  t.diagnostic(`SEED=${random.seed}`)
  const calls = nodes.map(({ url }) => createClient(url, nodes[0]!.apiKey))
  const upstream = await startHttp(t, (_request, response) => response.end('served'))
  await startLeggedAgent(t, nodes[0]!, { upstream, host: VISITED })
  await calls[0]!.create('/reserved_domains', { domain: `*.${SERVED}` })
  const load = startLoad(t, {
    timeoutMs: TIMEOUT_MS,
    host: VISITED,
    perSecond: VISITS_PER_SECOND,
    ports: () => visitedPorts,
  })
  const history = new WriteHistory(random, SERVED_KINDS)
  let goOn: 'always' | 'while accepted' | 'no' = 'always'
  let writers: Promise<unknown> = Promise.resolve()
  t.after(() => {
    goOn = 'no'
  })
  const writeAgain = (through: readonly ApiClient[] = calls) => {
    goOn = 'always'
    const each = through.flatMap((call) => Array.from({ length: WRITERS_PER_NODE }, () => call))
    writers = Promise.all(
      each.map(async (call) => {
        while (goOn !== 'no') {
          const isAccepted = await history.step(call)
          if (!isAccepted && goOn === 'while accepted') return
          await delay(WRITE_PAUSE_MS)
        }
      }),
    )
    // Whoever waits for the writers gets the error.
    writers.catch(() => {})
  }
  writeAgain()
  const stopWriters = async () => {
    goOn = 'no'
    await writers
  }
  return {
    history,
    calls,
    async written(count) {
      const goal = history.acknowledged + count
      await Promise.race([eventually(() => history.acknowledged >= goal, `${count} writes`), writers])
      assert.ok(history.acknowledged >= goal, 'the writers have ended')
    },
    async visited(count) {
      const goal = load.sent + count
      await eventually(() => load.sent >= goal, `${count} visits`)
    },
    async writersRejected() {
      goOn = 'while accepted'
      await writers
    },
    writeAgain,
    stopWriters,
    async stop() {
      await stopWriters()
      const { total, failed, counts, slowestMs } = await load.stop()
      t.diagnostic(
        `${total} visits, the slowest took ${Math.round(slowestMs)} ms; ${history.acknowledged} writes`,
      )
      assert.equal(failed, 0, `${failed} of ${total} visits failed: ${JSON.stringify(counts)}`)
      assert.ok(total > 0)
    },
  }
}
