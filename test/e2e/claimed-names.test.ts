import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import ngrok from '@ngrok/ngrok'
import { createAccount } from '../../src/auth/index.ts'
import { systemClock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import { openStore } from '../../src/store/index.ts'
import { createClient } from '../support/api.ts'
import { startPlatform, type TestPlatform } from '../support/platform.ts'
import { eventually } from './edge-world.ts'

/** A second account on a platform that is running, as its operator would make one. */
async function secondAccount({ dataDir, credentials }: TestPlatform) {
  const masterKeyFile = join(dataDir, 'master.key')
  const store = await openStore({ dataDir, masterKeyFile, clock: systemClock, log: silentLog })
  const made = await createAccount(store, { name: 'other', email: 'other@example.com', clock: systemClock })
  await store.close()
  return createClient(credentials.api_url, made.apiKey.reveal())
}

/** The official SDK with an endpoint at a name that nobody has reserved. */
async function serve(t: TestContext, { credentials }: TestPlatform, domain: string) {
  const server = createServer((_request, response) => response.end('agent')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const builder = new ngrok.SessionBuilder()
  builder.authtoken(credentials.authtoken).serverAddr(credentials.agent_addr).rootCas(credentials.ca_file)
  const session = await builder.connect()
  t.after(() => session.close())
  const endpoint = session.httpEndpoint().domain(domain)
  await endpoint.listenAndForward(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
}

test('a name that somebody else reserves is theirs within a second, whoever served it before', async (t) => {
  const platform = await startPlatform(t)
  const other = await secondAccount(platform)
  const [taken, kept] = ['taken.adit.localhost', 'kept.adit.localhost']
  for (const name of [taken, kept]) await serve(t, platform, name)
  const get = async (name: string) => {
    const url = `https://${name}:${new URL(platform.credentials.https_url).port}`
    const response = await platform.fetch(url)
    return `${response.status} ${response.status === 200 ? await response.text() : ''}`
  }
  await eventually(() => get(taken), '200 agent', 'it is served')

  const reservedAt = performance.now()
  await other.create('/reserved_domains', { domain: taken })
  await platform.call.create('/reserved_domains', { domain: kept })
  await eventually(() => get(taken), '404 ', 'it is not served any more')

  assert.ok(performance.now() - reservedAt < 1500)
  assert.equal(await get(kept), '200 agent', 'one’s own reservation ends nothing')
  const edge = await other.create('/edges/https', { hostports: [`${taken}:443`] })
  const { id: backend_id } = await other.create('/backends/http_response', { body: 'edge' })
  const route = { match_type: 'path_prefix', match: '/', backend: { backend_id } }
  await other.create(`/edges/https/${edge.id}/routes`, route)
  await eventually(() => get(taken), '200 edge', 'it is theirs')
})

test('a tunnel ends when an edge comes to its name, also one of its own account', async (t) => {
  const platform = await startPlatform(t)
  const { call } = platform
  for (const name of ['edged', 'other']) {
    await call.create('/reserved_domains', { domain: `${name}.adit.localhost` })
    await serve(t, platform, `${name}.adit.localhost`)
  }
  const online = async () => {
    const { tunnels } = (await call('GET', '/tunnels')).body as { tunnels: { public_url: string }[] }
    return tunnels.map(({ public_url }) => new URL(public_url).hostname.split('.')[0]).join()
  }
  await eventually(online, 'other,edged', 'both are online')

  await call.create('/edges/https', { hostports: ['edged.adit.localhost:443'] })

  await eventually(online, 'other', 'one of them is')
})
