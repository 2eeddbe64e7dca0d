import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type ApiClient, createClient } from '../support/api.ts'
import { eventually, eventuallyEqual } from '../support/eventually.ts'
import { sendHttps } from '../support/https-client.ts'
import { startHttp } from '../support/local-server.ts'
import { startPlatform } from '../support/platform.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { createSecondAccount } from '../support/second-account.ts'
import { startServerProcess } from '../support/server-process.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { createAppRoute } from './protected-route.ts'

const HOST = 'app.adit.localhost'
/** A provider that the operator has not allowed. */
const oidc = { issuer: 'https://10.0.0.1', client_id: 'app', client_secret: 'secret' }

async function list(call: ApiClient): Promise<Record<string, unknown>[]> {
  return (await call('GET', '/dashboard/api/failed_sign_ins')).body.failed_sign_ins
}

/** How often visitors found a provider that may not be called. */
async function countFailures(call: ApiClient): Promise<number> {
  const failures = await list(call)
  assert.ok(failures.every(({ failure }) => failure === 'provider_forbidden') && failures.length < 2)
  return Number(failures[0]?.count ?? 0)
}

async function openPage(httpsUrl: string, ca: string, accept = 'text/html'): Promise<number> {
  const port = Number(new URL(httpsUrl).port)
  return (await sendHttps(port, ca, { host: HOST, headers: { accept } })).status
}

/** Until a server protects the route, asked by a program: no sign-in begins. */
const untilProtected = (httpsUrl: string, ca: string) =>
  eventuallyEqual(() => openPage(httpsUrl, ca, 'application/json'), 401)

/** A destination of the events of failed sign-ins. */
async function startDestination(t: TestContext, call: ApiClient) {
  const events: { object: Record<string, unknown> }[] = []
  const port = await startHttp(t, async (request, response) => {
    events.push(JSON.parse((await Array.fromAsync(request)).join('')))
    response.end()
  })
  const secret = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`
  const webhook = { url: `http://127.0.0.1:${port}/`, secret }
  const { id } = await call.create('/event_destinations', { target: { webhook } })
  const sources = [{ type: 'sign_in_failed.v0' }]
  await call.create('/event_subscriptions', { sources, destination_ids: [id] })
  return events
}

test('every node knows the failed sign-ins of all nodes, for their account alone, and one event tells of them', async (t) => {
  const flags = ['--database-url', (await createTestDatabase(t)).url, '--outbound-allow', '127.0.0.1']
  const first = await startPlatform(t, flags)
  const key = join(first.dataDir, 'master.key')
  const second = await startPlatform(t, [...flags, '--master-key-file', key])
  const other = await createSecondAccount(first)
  const callSecond = createClient(second.credentials.api_url, first.credentials.api_key)
  const events = await startDestination(t, first.call)
  const { edge, route } = await createAppRoute(first, 1, { oidc })
  for (const { credentials, caPem } of [first, second]) await untilProtected(credentials.https_url, caPem)

  // Each fails at one node at a time; the first failures may precede the link between the nodes.
  for (const [node, callOther] of [[first, callSecond] as const, [second, first.call] as const]) {
    const earlier = await countFailures(callOther)
    await eventually(async () => {
      assert.equal(await openPage(node.credentials.https_url, node.caPem), 500)
      return (await countFailures(callOther)) > earlier
    }, 'the other node knows of it')
  }

  assert.deepEqual(await list(other.call), [])
  const { edge_id, route_id, provider } = (await list(callSecond))[0]!
  assert.deepEqual([edge_id, route_id, provider], [edge.id, route.id, oidc.issuer])
  await eventuallyEqual(async () => events.map(({ object }) => object.failure)[0], 'provider_forbidden')
})

test('the dashboard shows the failed sign-ins of both workers, each counted once', async (t) => {
  const server = await startServerProcess(t, createTempDir(), ['--workers', '2'])
  const { credentials } = server
  const caPem = await readFile(credentials.ca_file, 'utf8')
  const call = createClient(credentials.api_url, credentials.api_key)
  await createAppRoute({ call }, 1, { oidc })
  await untilProtected(credentials.https_url, caPem)

  // On connections of their own: that all of them reach the same worker is practically impossible.
  for (let each = 0; each < 30; each++) assert.equal(await openPage(credentials.https_url, caPem), 500)

  await eventuallyEqual(() => countFailures(call), 30)
})
