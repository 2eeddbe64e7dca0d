import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { portOf } from '../support/agents.ts'
import { createClient } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { startLightAgents } from '../support/light-agents.ts'
import { startHttp, startTcp } from '../support/local-server.ts'
import { httpPortOf, startLeggedAgent, startNodes } from '../support/rolling-restart.ts'
import { type ServerProcess, startServerProcess } from '../support/server-process.ts'
import { startLoad } from '../support/steady-load.ts'
import { createTempDir } from '../support/temp-dir.ts'

const HOST = 'app.adit.localhost'
const REQUESTS_PER_SECOND = 200
const AGENTS = 50
const KILLS = 5
const DURATION_S = Number(process.env.TEST_SECONDS ?? 60)

/** Sends requests to the ports in turn, calls `disturb` after a sixth of the time, and counts the outcomes. */
async function countOutcomes(t: TestContext, ports: readonly number[], disturb: () => void) {
  const load = startLoad(t, { host: HOST, perSecond: REQUESTS_PER_SECOND, ports: () => ports })
  await delay((DURATION_S * 1000) / 6)
  disturb()
  await delay((DURATION_S * 1000 * 5) / 6)
  const outcome = await load.stop()
  t.diagnostic(JSON.stringify(outcome.counts))
  return outcome
}

async function startServed(t: TestContext, server: ServerProcess) {
  const upstream = await startHttp(t, (_request, response) => response.end('served'))
  await startLeggedAgent(t, server, { upstream, host: HOST })
}

for (const [signal, maxShare] of [
  ['SIGKILL', 0.001],
  ['SIGSTOP', 0.01],
] as const)
  test(`the home of an agent gets ${signal}: the other nodes serve at least ${100 - maxShare * 100} %`, async (t) => {
    const [home, ...others] = (await startNodes(t, 3)).nodes
    await startServed(t, home!)
    const ports = others.map(httpPortOf)

    const { total, failed } = await countOutcomes(t, ports, () => process.kill(home!.pid, signal))

    assert.ok(failed <= total * maxShare, `${failed} of ${total} failed`)
  })

/** Starts a TCP relay to the agent ports of the nodes that accept connections, like a balancer in front of them. */
function startBalancer(t: TestContext, nodes: readonly ServerProcess[]): Promise<number> {
  let next = 0
  return startTcp(t, (client) => {
    const dial = (attempts: number): void => {
      next += 1
      const port = portOf(nodes[next % nodes.length]!.credentials.agent_addr)
      const upstream = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
      upstream.once('error', () => (attempts > 1 ? dial(attempts - 1) : client.destroy()))
      upstream.once('connect', () => {
        client.pipe(upstream).pipe(client)
        for (const [one, other] of [
          [client, upstream],
          [upstream, client],
        ] as const)
          one.on('close', () => other.destroy())
      })
    }
    dial(nodes.length)
  })
}

test(`${AGENTS} agents are back at other nodes after each of ${KILLS} kills, each with one session (P11)`, async (t) => {
  const { nodes, start } = await startNodes(t, 3)
  const credentials = { ...nodes[0]!.credentials, agent_addr: `127.0.0.1:${await startBalancer(t, nodes)}` }
  const agents = startLightAgents(t, credentials, AGENTS)
  const listSessions = async (node: ServerProcess) => {
    const call = createClient(node.url, nodes[0]!.apiKey)
    return (await call('GET', '/tunnel_sessions?limit=100')).body.tunnel_sessions as { id: string }[]
  }
  const areAllOnline = async () =>
    agents.online === AGENTS && (await listSessions(nodes[0]!)).length === AGENTS
  await eventually(areAllOnline)

  for (let kill = 1; kill <= KILLS; kill++) {
    const index = kill % nodes.length
    const sessions = new Set((await listSessions(nodes[0]!)).map(({ id }) => id))
    await nodes[index]!.kill()
    const survivor = nodes[(index + 1) % nodes.length]!
    const moved = await eventually(async () => {
      const current = await listSessions(survivor)
      return (
        agents.online === AGENTS &&
        current.length === AGENTS &&
        current.filter(({ id }) => !sessions.has(id)).length
      )
    })
    t.diagnostic(`kill ${kill}: ${moved} agents have moved`)
    await start(index)
  }
})

test('a worker that is killed fails the requests in flight at it, and no others', async (t) => {
  const server = await startServerProcess(t, createTempDir(), ['--workers', '2'])
  await startServed(t, server)
  const [worker] = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8').split(' ')

  const { total, failed } = await countOutcomes(t, [httpPortOf(server)], () =>
    process.kill(Number(worker), 'SIGKILL'),
  )

  // A tenth of a second of requests is far more than are in flight at once.
  assert.ok(failed <= REQUESTS_PER_SECOND / 10, `${failed} of ${total} failed`)
})
