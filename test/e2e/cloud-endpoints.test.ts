import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { fetchHost, startAgent } from '../support/agents.ts'
import { createClient } from '../support/api.ts'
import { eventuallyEqual } from '../support/eventually.ts'
import { startHttp } from '../support/local-server.ts'
import { startPlatform } from '../support/platform.ts'
import { createTestDatabase } from '../support/postgres.ts'

const HOST = 'cloud.adit.localhost'
const policyOf = (...actions: object[]) => JSON.stringify({ on_http_request: [{ actions }] })
const answer = (body: string) => policyOf({ type: 'custom-response', config: { body } })
const forwardTo = (url: string) => ({ type: 'forward-internal', config: { url } })

test('cloud endpoints answer on every node, change without going offline and pool with agents by weight', async (t) => {
  const flags = ['--database-url', (await createTestDatabase(t)).url]
  const first = await startPlatform(t, flags)
  const second = await startPlatform(t, [...flags, '--master-key-file', join(first.dataDir, 'master.key')])
  const { call } = first
  const nodes = [first, second]
  const bodyAt = (node: (typeof nodes)[number]) => async () => (await fetchHost(node, HOST)).body
  await call.create('/reserved_domains', { domain: HOST })
  const url = `http://${HOST}`

  const endpoint = await call.create('/endpoints', { url, traffic_policy: answer('one') })
  for (const node of nodes) await eventuallyEqual(bodyAt(node), 'one')
  const path = `/endpoints/${endpoint.id}`
  await call('PATCH', path, { body: { traffic_policy: answer('two') } })
  for (const node of nodes) await eventuallyEqual(bodyAt(node), 'two')

  // Internal endpoints of the cloud and of agents stand behind it.
  const service = await startHttp(t, (_request, response) => response.end('service'))
  const agent = await startAgent(t, first)
  await agent.forward({ addr: service, url: 'https://service.internal' })
  await call.create('/endpoints', {
    url: 'https://middle.internal',
    traffic_policy: policyOf(forwardTo('https://service.internal')),
  })
  await call('PATCH', path, { body: { traffic_policy: policyOf(forwardTo('https://middle.internal')) } })
  for (const node of nodes) await eventuallyEqual(bodyAt(node), 'service')

  await assert.rejects(agent.forward({ addr: service, url }), /in use|taken|already/i)
  await call('PATCH', path, { body: { pooling_enabled: true, traffic_policy: answer('pooled') } })
  await eventuallyEqual(bodyAt(second), 'pooled')
  await agent.forward({ addr: service, url, pooling_enabled: true, pooling_weight: 2 })
  for (const node of nodes)
    await eventuallyEqual(
      async () => new Set([await bodyAt(node)(), await bodyAt(node)()]),
      new Set(['pooled', 'service']),
    )

  // At each node, both kinds of endpoints get their share by weight.
  await call('PATCH', path, { body: { pooling_weight: 3 } })
  for (const node of nodes)
    await eventuallyEqual(async () => {
      const bodies = []
      for (let request = 0; request < 10; request++) bodies.push(await bodyAt(node)())
      return [
        bodies.filter((body) => body === 'pooled').length,
        bodies.filter((body) => body === 'service').length,
      ]
    }, [6, 4])

  const listed = await createClient(second.credentials.api_url, first.credentials.api_key)(
    'GET',
    '/endpoints',
  )
  const types = listed.body.endpoints.map((endpoint: { type: string; url: string }) => [
    endpoint.type,
    new URL(endpoint.url).hostname,
  ])
  assert.deepEqual(types.toSorted(), [
    ['cloud', HOST],
    ['cloud', 'middle.internal'],
    ['ephemeral', HOST],
    ['ephemeral', 'service.internal'],
  ])
  assert.equal((await call('DELETE', path)).status, 204)
  for (const node of nodes) {
    await eventuallyEqual(bodyAt(node), 'service')
    await eventuallyEqual(bodyAt(node), 'service')
  }
})
