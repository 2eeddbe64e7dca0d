import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { fetchHost, startAgent } from '../support/agents.ts'
import { eventually, eventuallyEqual } from '../support/eventually.ts'
import { startHttp, startTcp } from '../support/local-server.ts'
import { startPlatform, type TestPlatform } from '../support/platform.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { createSecondAccount } from '../support/second-account.ts'

const HOST = 'front.adit.localhost'
const forwardTo = (url: string, phase = 'on_http_request') =>
  JSON.stringify({ [phase]: [{ actions: [{ type: 'forward-internal', config: { url } }] }] })

/** Nodes open the same public ports, so that two on one machine need addresses of their own. */
const [FIRST_HOST, SECOND_HOST] = ['127.0.0.1', '127.0.0.2']

/** What a TCP service sends at a node before it closes the connection. */
async function readTcp(url: string, host = FIRST_HOST): Promise<string> {
  const socket = connect(Number(new URL(url).port), host)
  return text(socket).catch((error) => error.code)
}

/** The same over TLS, at the HTTPS port of a node. */
async function readTls(node: TestPlatform, servername: string): Promise<string> {
  const ca = await readFile(node.credentials.ca_file, 'utf8')
  const socket = connectTls({
    port: Number(new URL(node.credentials.https_url).port),
    ...{ host: FIRST_HOST, servername, ca },
  })
  return text(socket).catch((error) => error.code)
}

test('policies forward requests and connections to internal endpoints of their account, on any node, and nothing else reaches them', async (t) => {
  const flags = ['--database-url', (await createTestDatabase(t)).url]
  const first = await startPlatform(t, flags)
  const second = await startPlatform(t, [
    ...[...flags, '--master-key-file', join(first.dataDir, 'master.key')],
    ...['--tcp-host', SECOND_HOST],
  ])
  const other = await createSecondAccount(first)
  const serve = (text: string) => startHttp(t, (_request, response) => response.end(text))
  const [own, foreign] = [await startAgent(t, first), await startAgent(t, first, other.authtoken)]
  const inside = await own.forward({ addr: await serve('own'), url: 'https://app.internal' })
  await foreign.forward({ addr: await serve('foreign'), url: 'https://app.internal' })
  const agent = await startAgent(t, second, first.credentials.authtoken)
  await agent.forward({
    addr: await serve('front'),
    url: `http://${HOST}`,
    traffic_policy: forwardTo('https://app.internal'),
  })

  for (const node of [first, second]) {
    await eventuallyEqual(() => fetchHost(node, HOST), { status: 200, body: 'own' })
    assert.equal((await fetchHost(node, 'app.internal')).status, 404)
  }

  const greet = (greeting: string) => startTcp(t, (socket) => socket.end(greeting))
  const db = await own.forward({ addr: await greet('db'), proto: 'tcp', url: 'tcp://db.internal:5432' })
  const tcpFront = await agent.forward({
    addr: await greet('front'),
    proto: 'tcp',
    traffic_policy: forwardTo('tcp://db.internal:5432', 'on_tcp_connect'),
  })
  for (const host of [FIRST_HOST, SECOND_HOST]) await eventuallyEqual(() => readTcp(tcpFront.url, host), 'db')

  // A cloud endpoint opens its port, which an agent can share.
  const { addr } = await first.call.create('/reserved_addrs', {})
  const traffic_policy = forwardTo('tcp://db.internal:5432', 'on_tcp_connect')
  const cloud = await first.call.create('/endpoints', {
    url: `tcp://${addr}`,
    traffic_policy,
    pooling_enabled: true,
  })
  for (const host of [FIRST_HOST, SECOND_HOST]) await eventuallyEqual(() => readTcp(cloud.url, host), 'db')
  const pooled = await agent.forward({
    addr: await greet('pooled'),
    proto: 'tcp',
    url: cloud.url,
    pooling_enabled: true,
    pooling_weight: 3,
  })
  for (const host of [FIRST_HOST, SECOND_HOST])
    await eventuallyEqual(async () => {
      const greetings = []
      for (let connection = 0; connection < 8; connection++) greetings.push(await readTcp(cloud.url, host))
      return greetings.toSorted().join(' ')
    }, 'db db pooled pooled pooled pooled pooled pooled')
  await pooled.close()
  await eventuallyEqual(
    async () => new Set([await readTcp(cloud.url), await readTcp(cloud.url)]),
    new Set(['db']),
  )
  await first.call('DELETE', `/endpoints/${cloud.id}`)
  await eventuallyEqual(() => readTcp(cloud.url), 'ECONNREFUSED')

  // So does one with tls, which ends TLS and forwards what is inside.
  const rawHost = 'raw.adit.localhost'
  await first.call.create('/reserved_domains', { domain: rawHost })
  const terminate = { type: 'terminate-tls', config: { min_version: '1.3' } }
  const forward = { type: 'forward-internal', config: { url: 'tcp://db.internal:5432' } }
  const secured = await first.call.create('/endpoints', {
    url: `tls://${rawHost}`,
    traffic_policy: JSON.stringify({ on_tcp_connect: [{ actions: [terminate, forward] }] }),
  })
  for (const node of [first, second]) await eventuallyEqual(() => readTls(node, rawHost), 'db')
  await first.call('DELETE', `/endpoints/${secured.id}`)
  for (const node of [first, second]) await eventually(async () => (await readTls(node, rawHost)) !== 'db')

  await db.close()
  await eventuallyEqual(() => readTcp(tcpFront.url), 'ECONNRESET')
  await tcpFront.close()

  const { body } = await first.call('GET', '/endpoints')
  const bindings = Object.fromEntries(
    body.endpoints.map((endpoint: { url: string; bindings: string[] }) => [
      new URL(endpoint.url).hostname,
      endpoint.bindings,
    ]),
  )
  assert.deepEqual(bindings, { 'app.internal': ['internal'], [HOST]: ['public'] })
  await inside.close()
  await eventuallyEqual(async () => (await fetchHost(second, HOST)).status, 404)
})
