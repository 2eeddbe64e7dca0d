import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { cleanEnv, startProgram } from '../support/agent-process.ts'
import { createClient } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { readText } from '../support/harness.ts'
import { startHttp } from '../support/local-server.ts'
import type { Credentials } from '../support/platform.ts'
import { startPostgres } from '../support/postgres.ts'
import { startServerProcess } from '../support/server-process.ts'
import { createTempDir } from '../support/temp-dir.ts'

const NAMES = ['one', 'two', 'three']
const OUTAGES_S = [3, 12, 60, 600, 1800]
/** Everything works again this long after the database is back. */
const RECOVERY_MS = 5000
/** Longer than the lifetime of node rows, so that an effect of the outage on them shows. */
const OBSERVATION_MS = 20_000

/** Three server processes on one database, with an agent each. */
async function startNodes(t: TestContext, databaseUrl: string) {
  const dirs = [createTempDir(), createTempDir(), createTempDir()]
  const masterKey = join(dirs[0]!, 'master.key')
  const nodes: Credentials[] = []
  const port = await startHttp(t, (request, response) => response.end(request.headers.host?.split('.')[0]))
  for (const [index, dir] of dirs.entries()) {
    const flags = ['--database-url', databaseUrl, '--master-key-file', masterKey, '--log-level', 'error']
    await startServerProcess(t, dir, flags)
    const node = JSON.parse(readFileSync(join(dir, 'credentials.json'), 'utf8')) as Credentials
    nodes.push(node)
    const url = `--url=http://${NAMES[index]}.adit.localhost`
    const agent = startProgram(t, ['http', String(port), url, '--web-addr=false'], {
      env: {
        ...cleanEnv(createTempDir()),
        ADIT_CONNECT_URL: node.agent_addr,
        ADIT_CONNECT_CAS: node.ca_file,
        ADIT_AUTHTOKEN: nodes[0]!.authtoken,
      },
    })
    await agent.until(({ stdout }) => stdout.includes('Forwarding'))
  }
  return nodes
}

/** Sends one request for each name to each node and returns the failures. */
async function findFailures(nodes: readonly Credentials[]): Promise<string[]> {
  const requests = nodes.flatMap((node, index) =>
    NAMES.map(async (name) => {
      const { port } = new URL(node.http_url)
      const headers = { Host: `${name}.adit.localhost` }
      const request = get({ host: '127.0.0.1', port, headers, agent: false, timeout: 5000 })
      request.on('timeout', () => request.destroy(new Error('no response')))
      const body = await once(request, 'response').then(([response]) => readText(response), String)
      return body === name ? [] : [`${name} at node ${index + 1}: ${body}`]
    }),
  )
  return (await Promise.all(requests)).flat()
}

for (const seconds of OUTAGES_S)
  test(`three nodes whose database is down for ${seconds} s lose no session and no request`, async (t) => {
    const postgres = await startPostgres()
    t.after(() => postgres.dispose())
    const nodes = await startNodes(t, postgres.url)
    await eventually(
      async () => (await findFailures(nodes)).length === 0,
      'all nodes serve all names',
      60_000,
    )
    const call = createClient(nodes[0]!.api_url, nodes[0]!.api_key)
    const sessions = async () => {
      const { tunnel_sessions } = (await call('GET', '/tunnel_sessions')).body
      return tunnel_sessions.map(({ id }: { id: string }) => id).sort()
    }
    const before = await sessions()
    const failed: string[] = []
    let observing = true
    const observer = (async () => {
      while (observing) {
        failed.push(...(await findFailures(nodes)))
        await delay(100)
      }
    })()

    await postgres.stop()
    await delay(seconds * 1000)
    await postgres.start()
    await delay(RECOVERY_MS)
    await delay(OBSERVATION_MS)
    observing = false
    await observer

    assert.deepEqual(failed, [])
    assert.equal(before.length, NAMES.length)
    assert.deepEqual(await sessions(), before)
  })
