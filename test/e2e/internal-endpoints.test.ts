import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { fetchHost, startAgent } from '../support/agents.ts'
import { eventuallyEqual } from '../support/eventually.ts'
import { startHttp } from '../support/local-server.ts'
import { startPlatform } from '../support/platform.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { createSecondAccount } from '../support/second-account.ts'

const HOST = 'front.adit.localhost'
const forwardTo = (url: string) =>
  JSON.stringify({ on_http_request: [{ actions: [{ type: 'forward-internal', config: { url } }] }] })

test('a policy forwards to internal endpoints of its account, on any node, and nothing else reaches them', async (t) => {
  const flags = ['--database-url', (await createTestDatabase(t)).url]
  const first = await startPlatform(t, flags)
  const second = await startPlatform(t, [...flags, '--master-key-file', join(first.dataDir, 'master.key')])
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
