import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from '../../src/agent/index.ts'
import { cleanEnv, makeHome } from '../../src/agent/testing/program.ts'
import { routes } from '../../src/api/all-routes.ts'
import { EVENT_TYPES } from '../../src/resources/index.ts'
import { type ApiClient, createClient } from '../support/api.ts'
import { openBrowser } from '../support/dashboard.ts'
import { eventually } from '../support/eventually.ts'
import { startPlatform, type TestPlatform } from '../support/platform.ts'
import { freshDatabase } from '../support/postgres.ts'
import { bodyOf, Places } from '../support/sample-objects.ts'
import { createSecondAccount } from '../support/second-account.ts'

/** Two nodes of one database, and two accounts that call either of them. */
async function startNodes(t: TestContext) {
  const { url } = await freshDatabase(t)
  const flags = ['--database-url', url, '--outbound-allow', '127.0.0.1']
  const first = await startPlatform(t, flags)
  const second = await startPlatform(t, [...flags, '--master-key-file', join(first.dataDir, 'master.key')])
  const stranger = await createSecondAccount(first, url)
  const strangeAt = ({ credentials }: TestPlatform) => createClient(credentials.api_url, stranger.apiKey)
  return {
    first,
    second,
    stranger,
    own: first.call,
    ownAtSecond: createClient(second.credentials.api_url, first.credentials.api_key),
    strange: strangeAt(first),
    strangeAtSecond: strangeAt(second),
  }
}

async function startAgent(t: TestContext, { credentials }: TestPlatform, authtoken: string, port: number) {
  const agent = await connect({
    env: cleanEnv(makeHome(t), {}),
    connectUrl: credentials.agent_addr,
    authtoken,
    rootCas: credentials.ca_file,
  })
  t.after(() => agent.close())
  await agent.forward({ addr: port })
  return agent
}

/** The first answer that is true; what one node knows reaches the others within seconds. */
async function until<T>(look: () => Promise<T>): Promise<NonNullable<T>> {
  const deadline = performance.now() + 30_000
  for (;;) {
    const found = await look()
    if (found) return found
    assert.ok(performance.now() < deadline, `not in time: ${look}`)
    await delay(10)
  }
}

/** A webhook receiver; the accounts of the events that came. */
async function startSink(t: TestContext): Promise<{ url: string; accounts: () => string[] }> {
  const told: { account_id: string }[] = []
  const server = createServer(async (request, response) => {
    told.push(...([await json(request)].flat() as typeof told))
    response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  return { url, accounts: () => told.map(({ account_id }) => account_id) }
}

/** Subscribes an account to everything there is. */
async function subscribe(call: ApiClient, url: string): Promise<void> {
  const secret = `whsec_${Buffer.alloc(32).toString('base64')}`
  const { id } = await call.create('/event_destinations', { target: { webhook: { url, secret } } })
  const sources = [...EVENT_TYPES].map((type) => ({ type }))
  await call.create('/event_subscriptions', { sources, destination_ids: [id] })
}

test('an account finds nothing of another on any route of any node of a cluster', async (t) => {
  const { first, own, ownAtSecond, strange, strangeAtSecond } = await startNodes(t)
  const service = createServer((_request, response) => response.end('hello')).listen(0, '127.0.0.1')
  await once(service, 'listening')
  t.after(() => service.close())
  await startAgent(t, first, first.credentials.authtoken, (service.address() as AddressInfo).port)
  const online = (kind: string) =>
    until(async () => (await ownAtSecond('GET', `/${kind}`)).body[kind][0]?.id as string | undefined)
  const places = new Places(own, {
    session: await online('tunnel_sessions'),
    tunnel: await online('tunnels'),
    endpoint: await online('endpoints'),
  })
  let tried = 0

  for (const route of routes) {
    const path = await places.fill(route)
    const body = await bodyOf(route, strange)
    const options = body === undefined ? {} : { body }
    for (const call of [strange, strangeAtSecond]) {
      if (path !== route.path) {
        tried++
        const answer = await call(route.method, path, options)
        assert.equal(answer.status, 404, `${route.method} ${path}: ${JSON.stringify(answer.body)}`)
      } else if (route.method === 'GET') {
        const [listed, seen] = [(await own('GET', path)).body, (await call('GET', path)).body]
        const [key] = Object.keys(listed) as [string]
        const ids = new Set(listed[key].map(({ id }: { id: string }) => id))
        assert.ok(!seen[key].some(({ id }: { id: string }) => ids.has(id)), path)
      }
    }
  }
  assert.ok(tried > 200, `${tried} calls`)
})

test('events of an account reach its own destinations alone, from either node', async (t) => {
  const { first, second, own, ownAtSecond, strange, strangeAtSecond, stranger } = await startNodes(t)
  const [ours, theirs] = [await startSink(t), await startSink(t)]
  await subscribe(own, ours.url)
  await subscribe(strangeAtSecond, theirs.url)
  const service = createServer((_request, response) => response.end('hello')).listen(0, '127.0.0.1')
  await once(service, 'listening')
  t.after(() => service.close())
  const { port } = service.address() as AddressInfo

  for (const call of [own, ownAtSecond, strange, strangeAtSecond]) {
    const { id } = await call.create('/ip_policies', {})
    await call('DELETE', `/ip_policies/${id}`)
  }
  await startAgent(t, first, first.credentials.authtoken, port)
  await startAgent(t, second, stranger.authtoken, port)
  const { account_id: ownId } = await accountOf(first)

  await eventually(() => ours.accounts().length >= 6, 'our events arrive', 30_000)
  await eventually(() => theirs.accounts().length >= 6, 'their events arrive', 30_000)
  assert.deepEqual([...new Set(ours.accounts())], [ownId])
  assert.deepEqual([...new Set(theirs.accounts())], [stranger.accountId])
})

async function accountOf({ credentials }: TestPlatform): Promise<{ account_id: string }> {
  const browser = openBrowser(credentials.api_url)
  return (await browser.signIn({ api_key: credentials.api_key })).body
}

test('what a role loses at one node it has lost at the other within seconds', async (t) => {
  const { own, second } = await startNodes(t)
  const user = await own.create('/users', { email: 'dev@example.com', role: 'admin' })
  const { token } = await own.create('/api_keys', { owner_id: user.id })
  const call = createClient(second.credentials.api_url, token)
  assert.equal((await call('GET', '/users')).status, 200)

  await own('PATCH', `/users/${user.id}`, { body: { role: 'read_only' } })

  await until(async () => (await call('GET', '/users')).status === 403)
  assert.equal((await call('POST', '/ip_policies', { body: {} })).status, 403)
  assert.equal((await call('GET', '/ip_policies')).status, 200)
})
