import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { connect } from '../../src/agent/index.ts'
import { routes } from '../../src/api/all-routes.ts'
import { EVENT_TYPES } from '../../src/resources/index.ts'
import { cleanEnv } from '../support/agent-process.ts'
import { type ApiClient, createClient } from '../support/api.ts'
import { openBrowser } from '../support/dashboard.ts'
import { eventually } from '../support/eventually.ts'
import { startPlatform, type TestPlatform } from '../support/platform.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { createBody, PathParameters } from '../support/sample-objects.ts'
import { createSecondAccount } from '../support/second-account.ts'
import { createTempDir } from '../support/temp-dir.ts'

/** Starts two nodes on one database, with API clients of two accounts for each node. */
async function startNodes(t: TestContext) {
  const { url } = await createTestDatabase(t)
  const flags = ['--database-url', url, '--outbound-allow', '127.0.0.1']
  const first = await startPlatform(t, flags)
  const second = await startPlatform(t, [...flags, '--master-key-file', join(first.dataDir, 'master.key')])
  const otherAccount = await createSecondAccount(first)
  const connectOther = ({ credentials }: TestPlatform) =>
    createClient(credentials.api_url, otherAccount.apiKey)
  return {
    first,
    second,
    otherAccount,
    ownCall: first.call,
    ownCallAtSecond: createClient(second.credentials.api_url, first.credentials.api_key),
    otherCall: connectOther(first),
    otherCallAtSecond: connectOther(second),
  }
}

async function startAgent(t: TestContext, { credentials }: TestPlatform, authtoken: string, port: number) {
  const agent = await connect({
    env: cleanEnv(createTempDir(), {}),
    connectUrl: credentials.agent_addr,
    authtoken,
    rootCas: credentials.ca_file,
  })
  t.after(() => agent.close())
  await agent.forward({ addr: port })
  return agent
}

/** Starts a webhook receiver that records the accounts of the received events. */
async function startSink(t: TestContext): Promise<{ url: string; accounts: () => string[] }> {
  const events: { account_id: string }[] = []
  const server = createServer(async (request, response) => {
    events.push(...([await json(request)].flat() as typeof events))
    response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  return { url, accounts: () => events.map(({ account_id }) => account_id) }
}

/** Subscribes an account to all event types. */
async function subscribe(call: ApiClient, url: string): Promise<void> {
  const secret = `whsec_${Buffer.alloc(32).toString('base64')}`
  const { id } = await call.create('/event_destinations', { target: { webhook: { url, secret } } })
  const sources = [...EVENT_TYPES].map((type) => ({ type }))
  await call.create('/event_subscriptions', { sources, destination_ids: [id] })
}

test('an account cannot access objects of another through any API route on any node', async (t) => {
  const { first, ownCall, ownCallAtSecond, otherCall, otherCallAtSecond } = await startNodes(t)
  const service = createServer((_request, response) => response.end('hello')).listen(0, '127.0.0.1')
  await once(service, 'listening')
  t.after(() => service.close())
  await startAgent(t, first, first.credentials.authtoken, (service.address() as AddressInfo).port)
  const readOnlineId = (kind: string) =>
    eventually(async () => (await ownCallAtSecond('GET', `/${kind}`)).body[kind][0]?.id as string | undefined)
  const pathParameters = new PathParameters(ownCall, {
    session: await readOnlineId('tunnel_sessions'),
    tunnel: await readOnlineId('tunnels'),
    endpoint: await readOnlineId('endpoints'),
  })
  let attempts = 0

  for (const route of routes) {
    const path = await pathParameters.resolvePath(route)
    const body = await createBody(route, otherCall)
    const options = body === undefined ? {} : { body }
    for (const call of [otherCall, otherCallAtSecond]) {
      if (path !== route.path) {
        attempts++
        const response = await call(route.method, path, options)
        assert.equal(response.status, 404, `${route.method} ${path}: ${JSON.stringify(response.body)}`)
      } else if (route.method === 'GET') {
        const [ownList, otherList] = [(await ownCall('GET', path)).body, (await call('GET', path)).body]
        if (path === '/export') {
          // Documents have names in place of ids; domains are unique on the platform.
          const domains = Object.keys(ownList.document.reserved_domains)
          assert.ok(domains.length > 0)
          assert.ok(!domains.some((domain) => JSON.stringify(otherList).includes(domain)), path)
          continue
        }
        if (path === '/') continue // The addresses of lists, the same for every account.
        if (path === '/self') {
          assert.notEqual(ownList.account.id, otherList.account.id)
          continue
        }
        const [key] = Object.keys(ownList) as [string]
        const ids = new Set(ownList[key].map(({ id }: { id: string }) => id))
        assert.ok(!otherList[key].some(({ id }: { id: string }) => ids.has(id)), path)
      }
    }
  }
  assert.ok(attempts > 200, `${attempts} calls`)
})

test('events of an account are delivered only to its own destinations, from either node', async (t) => {
  const { first, second, ownCall, ownCallAtSecond, otherCall, otherCallAtSecond, otherAccount } =
    await startNodes(t)
  const [ownSink, otherSink] = [await startSink(t), await startSink(t)]
  await subscribe(ownCall, ownSink.url)
  await subscribe(otherCallAtSecond, otherSink.url)
  const service = createServer((_request, response) => response.end('hello')).listen(0, '127.0.0.1')
  await once(service, 'listening')
  t.after(() => service.close())
  const { port } = service.address() as AddressInfo

  for (const call of [ownCall, ownCallAtSecond, otherCall, otherCallAtSecond]) {
    const { id } = await call.create('/ip_policies', {})
    await call('DELETE', `/ip_policies/${id}`)
  }
  await startAgent(t, first, first.credentials.authtoken, port)
  await startAgent(t, second, otherAccount.authtoken, port)
  const { account_id: ownId } = await readAccount(first)

  await eventually(() => ownSink.accounts().length >= 6, 'our events arrive')
  await eventually(() => otherSink.accounts().length >= 6, 'their events arrive')
  assert.deepEqual([...new Set(ownSink.accounts())], [ownId])
  assert.deepEqual([...new Set(otherSink.accounts())], [otherAccount.accountId])
})

async function readAccount({ credentials }: TestPlatform): Promise<{ account_id: string }> {
  const browser = openBrowser(credentials.api_url)
  return (await browser.signIn({ api_key: credentials.api_key })).body
}

test('a permission removed at one node is removed at the other within seconds', async (t) => {
  const { ownCall, second } = await startNodes(t)
  const user = await ownCall.create('/users', { email: 'dev@example.com', role: 'admin' })
  const { token } = await ownCall.create('/api_keys', { owner_id: user.id })
  const call = createClient(second.credentials.api_url, token)
  assert.equal((await call('GET', '/users')).status, 200)

  await ownCall('PATCH', `/users/${user.id}`, { body: { role: 'read_only' } })

  await eventually(async () => (await call('GET', '/users')).status === 403)
  assert.equal((await call('POST', '/ip_policies', { body: {} })).status, 403)
  assert.equal((await call('GET', '/ip_policies')).status, 200)
})
