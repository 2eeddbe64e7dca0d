import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { Agent as HttpAgent, request } from 'node:http'
import { after, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import ngrok from '@ngrok/ngrok'
import { connect } from '../../src/agent/index.ts'
import { cleanEnv } from '../support/agent-process.ts'
import { fetchHost, portOf, startAgent } from '../support/agents.ts'
import { type ApiClient, createClient } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { startHoldingHttp, startHttp } from '../support/local-server.ts'
import { startPlatform, type TestPlatform } from '../support/platform.ts'
import { startRelay } from '../support/relay.ts'
import { startServerProcess } from '../support/server-process.ts'
import { createTempDir } from '../support/temp-dir.ts'

const REQUESTS_AT_ONCE = 20

// The SDK calls back shortly after a connection is lost, and aborts a process that is exiting at that moment.
after(() => delay(500))

/** A GET through the platform's plain HTTP listener; resolves to the status, or to 0 when the connection broke. */
async function get(platform: TestPlatform, agent: HttpAgent, host: string, path: string): Promise<number> {
  const port = Number(new URL(platform.credentials.http_url).port)
  const outgoing = request({ host: '127.0.0.1', port, path, headers: { Host: `${host}:${port}` }, agent })
  outgoing.end()
  try {
    const [response] = await once(outgoing, 'response')
    response.resume()
    await once(response, 'end')
    return response.statusCode
  } catch {
    return 0
  }
}

async function startLegged(t: TestContext, legs: number) {
  const platform = await startPlatform(t)
  const relay = await startRelay(t, portOf(platform.credentials.agent_addr))
  const handle = await connect({
    env: cleanEnv(createTempDir(), { ADIT_LEGS: String(legs) }),
    connectUrl: `127.0.0.1:${relay.port}`,
    authtoken: platform.credentials.authtoken,
    rootCas: platform.credentials.ca_file,
  })
  t.after(() => handle.close())
  return { platform, relay, handle }
}

/** How many legs the only session of the platform has. */
async function countLegs({ call }: { readonly call: ApiClient }): Promise<number> {
  const { body } = await call('GET', '/tunnel_sessions')
  const sessions = body.tunnel_sessions as { legs: object[] }[]
  return sessions.length === 1 ? sessions[0]!.legs.length : 0
}

for (const legs of [1, 4])
  test(`requests are served with at most ${legs} legs, and one session is listed`, async (t) => {
    const { platform, handle } = await startLegged(t, legs)
    const upstream = await startHttp(t, (_request, response) => response.end('served'))
    const { hostname: host } = new URL((await handle.forward({ addr: upstream, schemes: ['http'] })).url)
    const agent = new HttpAgent({ keepAlive: true })
    t.after(() => agent.destroy())

    const get20 = Array.from({ length: 20 }, () => get(platform, agent, host, '/'))

    assert.deepEqual(new Set(await Promise.all(get20)), new Set([200]))
    await eventually(async () => (await countLegs(platform)) === legs)
  })

test('a leg that breaks under load fails no GET, because its requests are sent again on another leg', async (t) => {
  const { platform, relay, handle } = await startLegged(t, 4)
  const upstream = await startHoldingHttp(t)
  const { hostname: host } = new URL((await handle.forward({ addr: upstream.port, schemes: ['http'] })).url)
  const agent = new HttpAgent({ keepAlive: true })
  t.after(() => agent.destroy())
  assert.equal(await get(platform, agent, host, '/'), 200)
  await eventually(async () => (await countLegs(platform)) === 4)

  const pending = Array.from({ length: REQUESTS_AT_ONCE }, () => get(platform, agent, host, '/wait'))
  await eventually(() => upstream.waiting === REQUESTS_AT_ONCE)
  relay.cutOldest()
  // Those of the broken leg arrive once more.
  await eventually(() => upstream.waiting > REQUESTS_AT_ONCE)
  upstream.release()

  assert.deepEqual(new Set(await Promise.all(pending)), new Set([200]))
  assert.equal(handle.status, 'online')
  await eventually(async () => (await countLegs(platform)) === 4)
})

test('with two workers every leg joins, and visitors of both reach an SDK, which has one connection', async (t) => {
  const server = await startServerProcess(t, createTempDir(), ['--workers', '2'])
  const call = createClient(server.url, server.apiKey)
  const upstream = await startHttp(t, (_request, response) => response.end('served'))
  // Of three agents with four legs, some leg reaches the other worker, practically always.
  for (const host of ['a.adit.localhost', 'b.adit.localhost', 'c.adit.localhost']) {
    const agent = await startAgent(t, server)
    await agent.forward({ addr: upstream, url: `http://${host}` })
    assert.deepEqual(await fetchHost(server, host), { status: 200, body: 'served' })
  }

  await eventually(async () => {
    const { body } = await call('GET', '/tunnel_sessions')
    const sessions = body.tunnel_sessions as { legs: object[] }[]
    return sessions.length === 3 && sessions.every(({ legs }) => legs.length === 4)
  })
  const { authtoken, agent_addr, ca_file } = server.credentials
  const session = await new ngrok.SessionBuilder()
    .authtoken(authtoken)
    .serverAddr(agent_addr)
    .caCert(await readFile(ca_file))
    .handleDisconnection(() => false)
    .connect()
  const outcomes: object[] = []
  // Before the server stops: an SDK that lost its session keeps the process alive.
  try {
    const endpoint = session.httpEndpoint().domain('sdk.adit.localhost').scheme('HTTP')
    await endpoint.listenAndForward(`http://127.0.0.1:${upstream}`)
    // Each on a connection of its own, which the kernel gives to either worker.
    for (let count = 0; count < 2 * REQUESTS_AT_ONCE; count++)
      outcomes.push(await fetchHost(server, 'sdk.adit.localhost'))
  } finally {
    await session.close()
  }
  assert.deepEqual(
    outcomes,
    outcomes.map(() => ({ status: 200, body: 'served' })),
  )
})
