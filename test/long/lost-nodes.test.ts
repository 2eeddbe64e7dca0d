import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { portOf, startAgent } from '../support/agents.ts'
import { createClient, tempDir } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { startHttp } from '../support/local-server.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { type ServerProcess, startServerProcess } from '../support/server-process.ts'

const HOST = 'app.adit.localhost'
const REQUESTS_PER_SECOND = 200
const DURATION_S = Number(process.env.TEST_SECONDS ?? 60)
/** A request without a response for this long has failed. */
const REQUEST_TIMEOUT_MS = 5000

/** Three server processes on one database. */
async function startNodes(t: TestContext): Promise<ServerProcess[]> {
  const dirs = [await tempDir(t), await tempDir(t), await tempDir(t)]
  const databaseFlags = ['--database-url', (await createTestDatabase(t)).url]
  const flags = [...databaseFlags, '--master-key-file', join(dirs[0]!, 'master.key')]
  const nodes: ServerProcess[] = []
  for (const dir of dirs) nodes.push(await startServerProcess(t, dir, flags))
  return nodes
}

/** An agent whose home is this server, with all its legs open. */
async function startLeggedAgent(t: TestContext, server: ServerProcess, authtoken: string, apiKey: string) {
  const upstream = await startHttp(t, (_request, response) => response.end('served'))
  const agent = await startAgent(t, server, authtoken)
  await agent.forward({ addr: upstream, url: `http://${HOST}` })
  const call = createClient(server.url, apiKey)
  await eventually(async () => {
    await get(portOf(new URL(server.credentials.http_url).host))
    const { body } = await call('GET', '/tunnel_sessions')
    return body.tunnel_sessions[0]?.legs.length >= 4
  })
}

/** One request on a connection of its own; resolves to the status, or to what went wrong. */
function get(port: number): Promise<string> {
  return new Promise((resolve) => {
    const outgoing = request({
      ...{ host: '127.0.0.1', port, agent: false, timeout: REQUEST_TIMEOUT_MS },
      headers: { Host: `${HOST}:${port}` },
    })
    outgoing.on('timeout', () => outgoing.destroy(new Error('no response')))
    outgoing.on('error', (error) => resolve(error.message))
    outgoing.on('response', (response) => {
      response.resume()
      response.on('error', (error) => resolve(error.message))
      response.on('end', () => resolve(String(response.statusCode)))
    })
    outgoing.end()
  })
}

/** Sends requests to the ports in turn at a steady rate, calls `disturb` after a sixth of the time, and counts the outcomes. */
async function countOutcomes(t: TestContext, ports: readonly number[], disturb: () => void) {
  const total = REQUESTS_PER_SECOND * DURATION_S
  const startedAt = performance.now()
  const pending: Promise<string>[] = []
  let disturbed = false
  while (pending.length < total) {
    const due = Math.min(total, Math.ceil(((performance.now() - startedAt) / 1000) * REQUESTS_PER_SECOND))
    while (pending.length < due) pending.push(get(ports[pending.length % ports.length]!))
    if (!disturbed && pending.length >= total / 6) {
      disturbed = true
      disturb()
    }
    await delay(5)
  }
  const counts = new Map<string, number>()
  for (const outcome of await Promise.all(pending)) counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
  t.diagnostic(JSON.stringify(Object.fromEntries(counts)))
  return { total, failed: total - (counts.get('200') ?? 0) }
}

for (const [signal, maxShare] of [
  ['SIGKILL', 0.001],
  ['SIGSTOP', 0.01],
] as const)
  test(`the home of an agent gets ${signal}: the other nodes serve at least ${100 - maxShare * 100} %`, async (t) => {
    const [home, ...others] = await startNodes(t)
    await startLeggedAgent(t, home!, home!.authtoken, home!.apiKey)
    const ports = others.map(({ credentials }) => portOf(new URL(credentials.http_url).host))

    const { total, failed } = await countOutcomes(t, ports, () => process.kill(home!.pid, signal))

    assert.ok(failed <= total * maxShare, `${failed} of ${total} failed`)
  })

test('a worker that is killed fails the requests in flight at it, and no others', async (t) => {
  const server = await startServerProcess(t, await tempDir(t), ['--workers', '2'])
  await startLeggedAgent(t, server, server.authtoken, server.apiKey)
  const [worker] = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8').split(' ')
  const port = portOf(new URL(server.credentials.http_url).host)

  const { total, failed } = await countOutcomes(t, [port], () => process.kill(Number(worker), 'SIGKILL'))

  // A tenth of a second of requests is far more than are in flight at once.
  assert.ok(failed <= REQUESTS_PER_SECOND / 10, `${failed} of ${total} failed`)
})
