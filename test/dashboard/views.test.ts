import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { hostname } from 'node:os'
import { type TestContext, test } from 'node:test'
import { connect } from '../../src/agent/index.ts'
import { openBrowser } from '../support/dashboard.ts'
import { eventually } from '../support/eventually.ts'
import { listen } from '../support/local-server.ts'
import { startPlatform, type TestPlatform } from '../support/platform.ts'
import { createSecondAccount } from '../support/second-account.ts'

interface State {
  requests: number
  bytes_out: number
  statuses: number[]
  sessions: number
  tunnels: number
  online: string
  revision: number
  deletions: number
  scopes?: { id: string; requests: number }[]
  broken?: { id: string; module: string; reason: string }[]
}

/** Streams the events of the live view. */
async function* watch(
  t: TestContext,
  { credentials }: TestPlatform,
  query = '',
  key = credentials.api_key,
): AsyncGenerator<State> {
  const controller = new AbortController()
  t.after(() => controller.abort())
  const response = await fetch(`${credentials.api_url}/dashboard/api/live${query}`, {
    headers: { authorization: `Bearer ${key}` },
    signal: controller.signal,
  })
  assert.equal(response.status, 200)
  assert.equal(response.headers.get('content-type'), 'text/event-stream')
  let text = ''
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk
    const events = text.split('\n\n')
    text = events.pop()!
    for (const event of events) yield JSON.parse(event.replace(/^data: /, '')) as State
  }
}

async function until(states: AsyncGenerator<State>, condition: (state: State) => boolean): Promise<State> {
  let last: State | undefined
  const isMet = async () => {
    const { value, done } = await states.next()
    assert.ok(!done, 'the stream ended')
    last = value
    return condition(value) ? value : undefined
  }
  return eventually(isMet, () => `a state that meets ${condition}; last: ${JSON.stringify(last)}`)
}

async function startService(t: TestContext): Promise<number> {
  const server = createServer((_request, response) => response.end('hello'))
  return listen(t, server)
}

async function startAgent(t: TestContext, { credentials }: TestPlatform, metadata = '') {
  const agent = await connect({
    authtoken: credentials.authtoken,
    connectUrl: credentials.agent_addr,
    rootCas: credentials.ca_file,
    config: [],
    env: {},
    metadata,
  })
  t.after(() => agent.close())
  return agent
}

test('the live view shows an account its own traffic every second', async (t) => {
  const platform = await startPlatform(t)
  const states = watch(t, platform)
  const otherStates = watch(t, platform, '', (await createSecondAccount(platform)).apiKey)
  const before = await until(states, () => true)
  const agent = await startAgent(t, platform)
  const { url } = await agent.forward(await startService(t))

  for (let times = 0; times < 3; times++) await (await platform.fetch(url)).text()
  const after = await until(states, ({ requests }) => requests === 3)

  assert.deepEqual([before.requests, before.sessions, before.tunnels], [0, 0, 0])
  assert.deepEqual([after.sessions, after.tunnels, after.bytes_out], [1, 1, 15])
  assert.deepEqual(after.statuses, [0, 3, 0, 0, 0])
  await until(otherStates, () => true)
  const otherState = await until(otherStates, () => true)
  assert.deepEqual([otherState.requests, otherState.sessions], [0, 0])
})

test('the live view of an edge shows the counters and the broken modules of its routes', async (t) => {
  const platform = await startPlatform(t)
  const { call } = platform
  await call.create('/reserved_domains', { domain: 'shop.adit.localhost' })
  const edge = await call.create('/edges/https', { hostports: ['shop.adit.localhost:443'] })
  const backend = await call.create('/backends/http_response', { body: 'fixed' })
  const route = await call.create(`/edges/https/${edge.id}/routes`, {
    match_type: 'path_prefix',
    match: '/',
    backend: { backend_id: backend.id },
  })
  const states = watch(t, platform, `?edge=${edge.id}`)
  const otherStates = watch(t, platform, `?edge=${edge.id}`, (await createSecondAccount(platform)).apiKey)
  await until(states, ({ scopes }) => scopes?.length === 1)

  await platform.fetch(`https://shop.adit.localhost:${new URL(platform.credentials.https_url).port}/`)
  const { scopes, broken } = await until(states, ({ scopes }) => scopes?.[0]?.requests === 1)

  assert.equal(scopes?.[0]?.id, route.id)
  assert.deepEqual(broken, [])
  assert.deepEqual((await until(otherStates, () => true)).scopes, [])
})

test('views require a session and end when the server stops', async (t) => {
  const platform = await startPlatform(t)
  const { api_url, api_key } = platform.credentials
  const browser = openBrowser(api_url)
  const paths = [
    '/dashboard/api/live',
    '/dashboard/api/ip_policies/check?address=1.1.1.1',
    '/dashboard/api/platform',
    '/dashboard/api/edges',
    '/dashboard/api/agents',
    '/dashboard/api/backends',
    '/dashboard/api/backend_trees?ids=x',
    '/dashboard/api/traffic',
    '/dashboard/api/search?q=x',
  ]
  for (const path of paths) assert.equal((await browser.call('GET', path)).status, 401, path)
  await browser.signIn({ api_key })

  const { status, body } = await browser.call('GET', '/dashboard/api/platform')
  const states = watch(t, platform)
  await states.next()
  await platform.stop()

  assert.equal(status, 200)
  assert.equal(body.domain, 'adit.localhost')
  assert.equal(body.database, 'available')
  assert.equal(body.agent_addr, platform.credentials.agent_addr)
  assert.match(body.ca_pem, /^-----BEGIN CERTIFICATE-----/)
  assert.doesNotMatch(JSON.stringify(body), /PRIVATE KEY/)
  for await (const _ of states);
})

test('an address check gives the same result as the edge and lists the restrictions of the account', async (t) => {
  const platform = await startPlatform(t)
  const { call } = platform
  const policy = await call.create('/ip_policies', {})
  const other = await call.create('/ip_policies', {})
  const rule = (ip_policy_id: unknown, action: string, cidr: string) =>
    call.create('/ip_policy_rules', { ip_policy_id, action, cidr })
  await rule(policy.id, 'allow', '127.0.0.0/8')
  await rule(policy.id, 'allow', '198.51.100.0/24')
  await rule(other.id, 'deny', '198.51.100.7/32')
  await call.create('/ip_restrictions', { type: 'endpoints', enforced: false, ip_policy_ids: [other.id] })
  const check = (address: string, ids: unknown[]) =>
    call('GET', `/dashboard/api/ip_policies/check?policies=${ids.join(',')}&address=${address}`)

  const single = await check('198.51.100.7', [policy.id])
  const combined = await check('198.51.100.7', [policy.id, other.id])
  const mappedAddress = await check('::ffff:127.0.0.1', [policy.id])
  const invalidAddress = await check('300.1.1.1', [policy.id])
  const unknownPolicy = await check('127.0.0.1', ['ipp_none'])

  assert.deepEqual(
    [single.body.allowed, combined.body.allowed, mappedAddress.body.allowed],
    [true, false, true],
  )
  assert.match(combined.body.because, /198\.51\.100\.7\/32 denies it/)
  assert.deepEqual(
    combined.body.restrictions.map(({ type, enforced, allowed }: Record<string, unknown>) => [
      type,
      enforced,
      allowed,
    ]),
    [['endpoints', false, false]],
  )
  assert.deepEqual([invalidAddress.status, invalidAddress.body.details.field], [400, 'address'])
  assert.deepEqual([unknownPolicy.status, unknownPolicy.body.details.field], [400, 'policies'])
})

test('the live view signals changes of configuration and tunnels, so that pages need not poll', async (t) => {
  const platform = await startPlatform(t)
  const { call } = platform
  const states = watch(t, platform)
  const first = await until(states, () => true)

  const domain = await call.create('/reserved_domains', { domain: 'shop.adit.localhost' })
  const updated = await until(states, ({ revision }) => revision > first.revision)
  await call('DELETE', `/reserved_domains/${domain.id}`)
  await until(states, ({ deletions }) => deletions > updated.deletions)
  const agent = await startAgent(t, platform)
  await agent.forward(await startService(t))
  const before = await until(states, ({ tunnels }) => tunnels === 1)
  await agent.tunnels[0]!.close()
  await agent.forward(await startService(t))
  await until(states, ({ tunnels, online }) => tunnels === 1 && online !== before.online)

  assert.equal(updated.online, first.online)
})

test('edges are listed without secret settings, and only to their own account', async (t) => {
  const platform = await startPlatform(t)
  const { call } = platform
  await call.create('/reserved_domains', { domain: 'shop.adit.localhost' })
  const backend = await call.create('/backends/http_response', { body: 'x' })
  const edge = await call.create('/edges/https', {
    hostports: ['shop.adit.localhost:443'],
    description: 'Shop',
  })
  const route = await call.create(`/edges/https/${edge.id}/routes`, {
    match_type: 'path_prefix',
    match: '/',
    backend: { backend_id: backend.id },
    oidc: { issuer: 'https://login.example.com', client_id: 'a', client_secret: 'very secret' },
    compression: { enabled: false },
  })
  const tcp = await call.create('/edges/tcp', {})

  const { body } = await call('GET', '/dashboard/api/edges')
  const otherResponse = await call('GET', '/dashboard/api/edges', {
    key: (await createSecondAccount(platform)).apiKey,
  })
  const audit = await call('GET', '/audit_events')

  assert.deepEqual(body.edges, [
    {
      id: edge.id,
      modules: [],
      backend_id: null,
      kind: 'https',
      description: 'Shop',
      hostports: ['shop.adit.localhost:443'],
      created_at: edge.created_at,
      routes: [{ id: route.id, modules: ['oidc'], backend_id: backend.id, match: '/' }],
    },
    {
      id: tcp.id,
      modules: [],
      backend_id: null,
      kind: 'tcp',
      description: '',
      hostports: [],
      created_at: tcp.created_at,
      routes: [],
    },
  ])
  assert.deepEqual(otherResponse.body.edges, [])
  assert.doesNotMatch(JSON.stringify(body), /very secret|login\.example/)
  assert.equal(
    audit.body.audit_events.some(({ action }: { action: string }) => action === 'get' || action === 'list'),
    false,
  )
})

test('agents are listed with their host name, user and credential; names of users are for administrators', async (t) => {
  const platform = await startPlatform(t)
  const { call } = platform
  await startAgent(t, platform)
  const developer = await call.create('/users', { email: 'dev@example.com', role: 'developer' })
  const { token: key } = await call.create('/api_keys', { owner_id: developer.id })

  const { body } = await call('GET', '/dashboard/api/agents')
  const forDeveloper = await call('GET', '/dashboard/api/agents', { key: String(key) })
  const forOthers = await call('GET', '/dashboard/api/agents', {
    key: (await createSecondAccount(platform)).apiKey,
  })

  const [agent] = body.agents
  assert.equal(agent.hostname, hostname())
  assert.equal(agent.owner.name, 'admin@adit.localhost')
  assert.match(agent.credential.id, /^cr_/)
  assert.equal(forDeveloper.body.agents[0].owner.name, '')
  assert.equal(forDeveloper.body.agents[0].owner.id, agent.owner.id)
  assert.deepEqual(forOthers.body.agents, [])
})

test('agents are listed page by page, newest first, and found by name, credential and tunnel', async (t) => {
  const platform = await startPlatform(t)
  const { call } = platform
  const agents = []
  for (const metadata of ['first', 'second', 'third']) agents.push(await startAgent(t, platform, metadata))
  await agents[1]!.forward({ addr: await startService(t), labels: ['app=shop'] })
  const { body: sessions } = await call('GET', '/tunnel_sessions')
  const nameOf = new Map<string, string>(
    sessions.tunnel_sessions.map(({ id, metadata }: { id: string; metadata: string }) => [id, metadata]),
  )
  const list = async (query: string) => {
    const { status, body } = await call('GET', `/dashboard/api/agents?${query}`)
    if (status !== 200) return status
    return [body.agents.map(({ id }: { id: string }) => nameOf.get(id)).join(), body.matching, body.total]
  }
  const [id] = [...nameOf].find(([, name]) => name === 'first')!

  assert.deepEqual(await list('limit=2'), ['third,second', 3, 3])
  assert.deepEqual(await list('limit=2&offset=2'), ['first', 3, 3])
  assert.deepEqual(await list('q=SECOND'), ['second', 1, 3])
  assert.deepEqual(await list('q=app%3Dshop'), ['second', 1, 3])
  assert.deepEqual(await list('q=third+127.0.0.1'), ['third', 1, 3])
  assert.deepEqual(await list('q=first+app%3Dshop'), ['', 0, 3])
  assert.deepEqual(await list(`id=${id}`), ['first', 1, 3])
  for (const query of ['limit=-5', 'offset=x', `q=${'x'.repeat(201)}`])
    assert.equal(await list(query), 400, query)
})

test('a search finds resources, agents and tunnels of the account by any word, and no secrets', async (t) => {
  const platform = await startPlatform(t)
  const { call } = platform
  const agent = await startAgent(t, platform)
  const { url } = await agent.forward(await startService(t))
  const domain = await call.create('/reserved_domains', {
    domain: 'shop.adit.localhost',
    description: 'Web shop',
  })
  const edge = await call.create('/edges/https', { hostports: ['shop.adit.localhost:443'] })
  const backend = await call.create('/backends/tunnel_group', { labels: { app: 'shop' } })
  const user = await call.create('/users', { email: 'shopkeeper@example.com', role: 'developer' })
  const { token: key, id: keyId } = await call.create('/api_keys', { owner_id: user.id })
  const search = async (query: string, options: { key?: string } = {}) => {
    const { body } = await call('GET', `/dashboard/api/search?q=${encodeURIComponent(query)}`, options)
    return body.hits as { id: string; kind: string; fields: Record<string, unknown> }[]
  }
  const idsOf = async (query: string, options?: { key?: string }) =>
    (await search(query, options)).map(({ id }) => id)

  assert.deepEqual(new Set(await idsOf('shop')), new Set([domain.id, edge.id, backend.id, user.id]))
  assert.deepEqual(await idsOf('SHOP web'), [domain.id])
  assert.deepEqual(await idsOf('app=shop'), [backend.id])
  assert.deepEqual(await idsOf(String(edge.id)), [edge.id])
  assert.deepEqual(new Set(await idsOf(String(user.id))), new Set([user.id, keyId]))
  assert.deepEqual(await idsOf(String(user.id).slice(4)), [], 'an id matches from its beginning')
  // A short host name may occur in a random tunnel name too.
  assert.ok((await search(hostname())).some(({ kind }) => kind === 'agent'))
  const [tunnel] = await search(new URL(url).hostname)
  assert.deepEqual([tunnel?.kind, tunnel?.fields.name], ['tunnel', url])
  assert.equal((await idsOf('shop', { key: String(key) })).includes(String(user.id)), false, 'not readable')
  assert.deepEqual(await idsOf('shop', { key: (await createSecondAccount(platform)).apiKey }), [])
  assert.deepEqual(await idsOf(String(key).slice(-20)), [])
  assert.doesNotMatch(JSON.stringify(await search(String(keyId))), new RegExp(String(key)))
  assert.deepEqual(await idsOf('  '), [])
  assert.equal((await call('GET', `/dashboard/api/search?q=${'x'.repeat(201)}`)).status, 400)
})

test('the edges that use a backend, or serve an address, are listed alone', async (t) => {
  const { call } = await startPlatform(t)
  const backend = await call.create('/backends/tunnel_group', { labels: { app: 'shop' } })
  const other = await call.create('/backends/tunnel_group', { labels: { app: 'blog' } })
  const { addr } = await call.create('/reserved_addrs', {})
  await call.create('/reserved_addrs', {})
  const direct = await call.create('/edges/tcp', { hostports: [addr], backend: { backend_id: backend.id } })
  const routed = await call.create('/edges/https', {})
  await call.create(`/edges/https/${routed.id}/routes`, {
    match: '/',
    match_type: 'path_prefix',
    backend: { backend_id: backend.id },
  })
  await call.create('/edges/tcp', { backend: { backend_id: other.id } })
  const list = async (query: Record<string, string>) => {
    const { body } = await call('GET', `/dashboard/api/edges?${new URLSearchParams(query)}`)
    return body.edges.map(({ id }: { id: string }) => id)
  }

  assert.deepEqual(await list({ backend: String(backend.id) }), [routed.id, direct.id])
  assert.deepEqual(await list({ hosts: String(addr) }), [direct.id])
  assert.deepEqual(await list({ backend: 'bkdtg_none' }), [])
})

test('edges are listed page by page, filtered and sorted', async (t) => {
  const platform = await startPlatform(t)
  const { call } = platform
  for (const description of ['b shop', 'c blog', 'a shop']) await call.create('/edges/https', { description })
  await call.create('/edges/tcp', { description: 'd shop' })
  const list = async (query: string) => {
    const { status, body } = await call('GET', `/dashboard/api/edges?${query}`)
    if (status !== 200) return status
    const names = body.edges.map(({ description }: { description: string }) => description)
    return [names.join(), body.matching, body.total]
  }

  assert.deepEqual(await list('sort=name&limit=2'), ['a shop,b shop', 4, 4])
  assert.deepEqual(await list('sort=name&limit=2&offset=2'), ['c blog,d shop', 4, 4])
  assert.deepEqual(await list('sort=name&order=descending&q=SHOP'), ['d shop,b shop,a shop', 3, 4])
  assert.deepEqual(await list('kind=tcp'), ['d shop', 1, 4])
  assert.deepEqual(await list('sort=created&order=descending&limit=1'), ['d shop', 4, 4])
  assert.deepEqual(await list('offset=9'), ['', 4, 4])
  for (const query of ['limit=-5', 'limit=x', 'sort=age', 'kind=udp', 'offset=-1'])
    assert.equal(await list(query), 400, query)
})

test('backends are listed page by page with what they send traffic to', async (t) => {
  const platform = await startPlatform(t)
  const { call } = platform
  const agent = await startAgent(t, platform)
  await agent.forward({ addr: await startService(t), labels: ['app=shop'] })
  const group = await call.create('/backends/tunnel_group', { labels: { app: 'shop' } })
  const sorry = await call.create('/backends/http_response', { body: 'söry', status_code: 503 })
  const inner = await call.create('/backends/failover', { backends: [group.id, sorry.id] })
  const outer = await call.create('/backends/weighted', {
    description: 'Canary',
    backends: { [inner.id]: 3 },
  })
  const other = await call.create('/backends/static', { address: 'shop.example.com:443' })
  const list = async (query: Record<string, string>) => {
    const { status, body } = await call('GET', `/dashboard/api/backends?${new URLSearchParams(query)}`)
    return status === 200 ? [body.ids, body.matching, body.total] : status
  }

  const { body } = await call('GET', '/dashboard/api/backends?q=canary')
  const trees = await call('GET', `/dashboard/api/backend_trees?ids=${inner.id},bkdtg_none,ipp_x`)
  const foreign = { key: (await createSecondAccount(platform)).apiKey }
  const foreignList = await call('GET', '/dashboard/api/backends', foreign)
  const foreignTrees = await call('GET', `/dashboard/api/backend_trees?ids=${inner.id}`, foreign)

  assert.deepEqual(body.ids, [outer.id])
  assert.deepEqual(
    body.backends.map(({ id }: { id: string }) => id),
    [outer.id, inner.id, group.id, sorry.id],
  )
  const [, , listedGroup, listedSorry] = body.backends
  assert.equal(listedGroup.online, 1)
  assert.match(listedGroup.tunnels[0].tunnel_session_id, /^ts_/)
  assert.deepEqual([listedSorry.status_code, listedSorry.body_bytes, listedSorry.body], [503, 5, undefined])
  assert.deepEqual(trees.body.backends, body.backends.slice(1))
  assert.deepEqual(await list({ limit: '2' }), [[other.id, outer.id], 5, 5])
  assert.deepEqual(await list({ limit: '2', offset: '4' }), [[group.id], 5, 5])
  assert.deepEqual(await list({ kinds: 'static,failover' }), [[other.id, inner.id], 2, 5])
  assert.deepEqual(await list({ q: 'app=SHOP' }), [[group.id], 1, 5])
  assert.deepEqual(await list({ child: String(inner.id) }), [[outer.id], 1, 5])
  assert.deepEqual(await list({ child: String(sorry.id) }), [[inner.id], 1, 5])
  assert.equal(await list({ limit: '-1' }), 400)
  assert.deepEqual(foreignList.body, { ids: [], backends: [], matching: 0, total: 0 })
  assert.deepEqual(foreignTrees.body.backends, [])
})
