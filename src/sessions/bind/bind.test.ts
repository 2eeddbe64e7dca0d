import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ClaimRejected } from '../../naming/index.ts'
import type { BindMessage, ProtocolError } from '../../protocol/index.ts'
import {
  agentIdentity,
  type Platform,
  type PlatformOptions,
  startPlatform,
  TOKEN,
} from '../testing/platform.ts'

interface BindSetup extends PlatformOptions {
  acl?: string[]
  /** Reserved names and addresses with their account. */
  reserved?: Record<string, string>
  edges?: string[]
}

async function startHarness(t: TestContext, setup: BindSetup): Promise<Platform> {
  const platform = await startPlatform(t, setup)
  const principal = platform.credentials.get(TOKEN)!
  platform.credentials.set(TOKEN, { ...principal, acl: setup.acl ?? [] })
  for (const [name, accountId] of Object.entries(setup.reserved ?? {})) {
    platform.reservations.set(name, { id: name.includes(':') ? 'ra_1' : 'rd_1', accountId })
  }
  for (const edge of setup.edges ?? []) platform.edges.add(edge)
  return platform
}

const http = (Opts: object): BindMessage => ({ Proto: 'http', Opts })
const kubernetes = (Proto: string, URL: string) => ({
  Proto,
  Opts: { URL },
  Extra: { Bindings: ['kubernetes'] },
})

const signInPolicy = (domain: string) =>
  JSON.stringify({
    on_http_request: [
      {
        actions: [
          {
            type: 'oauth',
            config: { provider: 'github', client_id: 'a', client_secret: 'b', auth_cookie_domain: domain },
          },
        ],
      },
    ],
  })

const https = (Opts: object): BindMessage => ({ Proto: 'https', Opts })
const tls = (Opts: object): BindMessage => ({ Proto: 'tls', Opts })
const tcp = (Opts: object): BindMessage => ({ Proto: 'tcp', Opts })

const accepted: [what: string, request: BindMessage, setup: BindSetup, url: string | RegExp][] = [
  ['nothing', https({}), {}, /^https:\/\/[a-z]+-[a-z]+-[a-z0-9]{5}\.adit\.test$/],
  ['nothing, for tls', tls({}), {}, /^tls:\/\/[a-z]+-[a-z]+-[a-z0-9]{5}\.adit\.test$/],
  ['a subdomain', https({ Subdomain: 'app' }), {}, 'https://app.adit.test'],
  ['a free name under the base domain', http({ Domain: 'app.adit.test' }), {}, 'http://app.adit.test'],
  ['the older field', http({ Hostname: 'App.Adit.Test.' }), {}, 'http://app.adit.test'],
  ['a URL', https({ URL: 'https://app.adit.test' }), {}, 'https://app.adit.test'],
  ['a URL with the default port', https({ URL: 'https://app.adit.test:443/' }), {}, 'https://app.adit.test'],
  ['a URL without a scheme', https({ URL: 'app.adit.test' }), {}, 'https://app.adit.test'],
  [
    'a reserved name',
    https({ Domain: 'a.ex.com' }),
    { reserved: { 'a.ex.com': 'ac_1' } },
    'https://a.ex.com',
  ],
  [
    'a name under a reserved wildcard',
    https({ Domain: 'a.b.ex.com' }),
    { reserved: { '*.ex.com': 'ac_1' } },
    'https://a.b.ex.com',
  ],
  [
    'a reserved wildcard',
    https({ Domain: '*.ex.com' }),
    { reserved: { '*.ex.com': 'ac_1' } },
    'https://*.ex.com',
  ],
  [
    'a name the ACL allows',
    https({ Domain: 'a.adit.test' }),
    { acl: ['bind:*.adit.test'] },
    'https://a.adit.test',
  ],
  [
    'nothing, with an ACL that covers the base domain',
    https({}),
    { acl: ['bind:*.adit.test'] },
    /adit\.test$/,
  ],
  ['an internal name', https({ URL: 'https://App.internal' }), {}, 'https://app.internal'],
  ['an internal name with a port', http({ URL: 'http://a.b.internal:8080' }), {}, 'http://a.b.internal:8080'],
  ['an internal name for tcp', tcp({ URL: 'tcp://db.internal:5432' }), {}, 'tcp://db.internal:5432'],
  ['an internal wildcard', https({ Domain: '*.b.internal' }), {}, 'https://*.b.internal'],
  [
    'an internal name with its binding',
    { ...https({ URL: 'https://a.internal' }), Extra: { Bindings: ['internal'] } },
    {},
    'https://a.internal',
  ],
  ['nothing, for tcp', tcp({}), {}, 'tcp://tcp.adit.test:20000'],
  ['the empty URL, for tcp', tcp({ URL: 'tcp://' }), {}, 'tcp://tcp.adit.test:20000'],
  [
    'a reserved address',
    tcp({ Addr: 'tcp.adit.test:20007' }),
    { reserved: { 'tcp.adit.test:20007': 'ac_1' } },
    'tcp://tcp.adit.test:20007',
  ],
  [
    'a reserved address by URL',
    tcp({ URL: 'tcp://tcp.adit.test:20007' }),
    { reserved: { 'tcp.adit.test:20007': 'ac_1' } },
    'tcp://tcp.adit.test:20007',
  ],
  [
    'an address the ACL allows',
    tcp({ Addr: 'tcp.adit.test:20007' }),
    { acl: ['bind:tcp.adit.test:20007'], reserved: { 'tcp.adit.test:20007': 'ac_1' } },
    'tcp://tcp.adit.test:20007',
  ],
  [
    'a public HTTP port',
    http({ Subdomain: 'a' }),
    { address: { httpPort: 8080 } },
    'http://a.adit.test:8080',
  ],
  [
    'a public HTTPS port',
    https({ URL: 'https://a.adit.test:8443' }),
    { address: { httpsPort: 8443 } },
    'https://a.adit.test:8443',
  ],
  [
    'the port of production on a laptop',
    tls({ URL: 'tls://a.adit.test:443' }),
    { address: { httpsPort: 8443 } },
    'tls://a.adit.test:8443',
  ],
]

for (const [what, request, setup, url] of accepted) {
  test(`a bind that requests ${what} gets ${url}`, async (t) => {
    const platform = await startHarness(t, setup)
    const agent = await platform.agent(t)

    const bound = await agent.bind(request)

    if (typeof url === 'string') assert.equal(bound.URL, url)
    else assert.match(bound.URL, url)
  })
}

const rejected: [what: string, request: BindMessage, setup: BindSetup, number: number][] = [
  ['an unknown protocol', { Proto: 'ssh' }, {}, 332],
  ['a malformed name', https({ Domain: 'a..b' }), {}, 326],
  ['a name with a star inside', https({ Domain: 'a.*.ex.com' }), {}, 326],
  ['a subdomain with a slash', https({ Subdomain: 'a/b' }), {}, 326],
  ['an unreserved name', https({ Domain: 'a.ex.com' }), {}, 319],
  ['a name below a free one', https({ Domain: 'a.b.adit.test' }), {}, 319],
  ['the base domain', https({ Domain: 'adit.test' }), {}, 319],
  ['a name below an own one', https({ Domain: 'b.a.ex.com' }), { reserved: { 'a.ex.com': 'ac_1' } }, 319],
  ['an unreserved wildcard', https({ Domain: '*.ex.com' }), {}, 318],
  ['the wildcard of the base domain', https({ Domain: '*.adit.test' }), {}, 318],
  ['a name of another account', https({ Domain: 'a.ex.com' }), { reserved: { 'a.ex.com': 'ac_2' } }, 320],
  ['a name of the platform', https({ Domain: 'idp.adit.test' }), {}, 320],
  ['a name below one of the platform', https({ Domain: 'a.idp.adit.test' }), {}, 320],
  [
    'a name below one of another account',
    https({ Domain: 'b.a.ex.com' }),
    { reserved: { 'a.ex.com': 'ac_2' } },
    320,
  ],
  [
    'a reserved name under the base domain',
    https({ Subdomain: 'a' }),
    { reserved: { 'a.adit.test': 'ac_2' } },
    320,
  ],
  [
    'a name held by an edge',
    https({ Domain: 'a.ex.com' }),
    { reserved: { 'a.ex.com': 'ac_1' }, edges: ['a.ex.com'] },
    381,
  ],
  ['a name the ACL forbids', https({ Domain: 'a.adit.test' }), { acl: ['bind:b.adit.test'] }, 316],
  ['a random name the ACL forbids', https({}), { acl: ['bind:b.adit.test'] }, 316],
  ['a name under an unreadable ACL', https({}), { acl: ['nonsense'] }, 316],
  ['an unreserved address', tcp({ Addr: 'tcp.adit.test:20007' }), {}, 307],
  [
    'an address of another account',
    tcp({ Addr: 'tcp.adit.test:20007' }),
    { reserved: { 'tcp.adit.test:20007': 'ac_2' } },
    309,
  ],
  [
    'an address the ACL forbids',
    tcp({ Addr: 'tcp.adit.test:20007' }),
    { acl: ['bind:tcp.adit.test:20008'] },
    308,
  ],
  ['a random address the ACL forbids', tcp({}), { acl: ['bind:tcp.adit.test:20008'] }, 356],
  [
    'an address held by an edge',
    tcp({ Addr: 'tcp.adit.test:20007' }),
    { edges: ['tcp.adit.test:20007'] },
    381,
  ],
  ['an address without a port', tcp({ Addr: 'tcp.adit.test' }), {}, 33404],
  ['a URL of another protocol', https({ URL: 'tcp://a.adit.test:1' }), {}, 33404],
  ['a URL with a path', https({ URL: 'https://a.adit.test/path' }), {}, 33404],
  ['a URL with a user', https({ URL: 'https://me@a.adit.test' }), {}, 33404],
  ['a port that is not public', https({ URL: 'https://a.adit.test:444' }), {}, 33404],
  ['an unreadable traffic policy', https({ TrafficPolicy: '{"on_request":[]}' }), {}, 2236],
  [
    'a cookie domain that the account has not reserved',
    https({ Domain: 'a.ex.com', TrafficPolicy: signInPolicy('ex.com') }),
    { reserved: { 'a.ex.com': 'ac_1' } },
    2241,
  ],
  [
    'a cookie domain that is not above the name',
    https({ Domain: 'a.ex.com', TrafficPolicy: signInPolicy('b.ex.com') }),
    { reserved: { '*.ex.com': 'ac_1' } },
    2241,
  ],
  [
    'a cookie domain whose key is escaped',
    https({
      Domain: 'a.ex.com',
      TrafficPolicy: signInPolicy('b.ex.com').replace('cookie_domain', 'cookie_doma\\u0069n'),
    }),
    { reserved: { '*.ex.com': 'ac_1' } },
    2241,
  ],
  ['a cookie domain that is none', https({ TrafficPolicy: signInPolicy('*.ex.com') }), {}, 2243],
  ['an internal binding without a name', { Proto: 'https', Extra: { Bindings: ['internal'] } }, {}, 33404],
  [
    'an internal binding with a public name',
    { ...https({ URL: 'https://a.adit.test' }), Extra: { Bindings: ['internal'] } },
    {},
    33404,
  ],
  [
    'a public binding with an internal name',
    { ...https({ URL: 'https://a.internal' }), Extra: { Bindings: ['public'] } },
    {},
    33404,
  ],
  ['two bindings', { Proto: 'https', Extra: { Bindings: ['public', 'internal'] } }, {}, 33404],
  ['an unknown binding', { Proto: 'https', Extra: { Bindings: ['cluster'] } }, {}, 33404],
  ['https in clusters', kubernetes('https', 'https://app.default'), {}, 18018],
  ['a service in clusters without a namespace', kubernetes('http', 'http://app'), {}, 33404],
  ['a name that is no service in clusters', kubernetes('http', 'http://app.example.com'), {}, 33404],
  ['a service in clusters for tcp without a port', kubernetes('tcp', 'tcp://db.default'), {}, 33404],
  ['a service in clusters without a name', kubernetes('http', ''), {}, 33404],
  [
    'a service in clusters that the ACL does not allow',
    kubernetes('http', 'http://app.default'),
    { acl: ['bind:b.default'] },
    316,
  ],
  ['an internal name of six labels', https({ URL: 'https://a.b.c.d.e.f.internal' }), {}, 33404],
  ['an internal name for tcp without a port', tcp({ URL: 'tcp://db.internal' }), {}, 33404],
  [
    'an internal name that the ACL does not allow',
    https({ URL: 'https://a.internal' }),
    { acl: ['bind:b.internal'] },
    316,
  ],
  ['an unknown upstream protocol', { Proto: 'https', ForwardsProto: 'spdy' }, {}, 33404],
  ['metadata of 4097 bytes', { Proto: 'https', Extra: { Metadata: 'é'.repeat(2049) } }, {}, 33404],
  ['options of the wrong type', https({ ProxyProto: 'two' }), {}, 301],
]

for (const [what, request, setup, number] of rejected) {
  test(`a bind that requests ${what} is rejected with ${number}`, async (t) => {
    const platform = await startHarness(t, setup)
    const agent = await platform.agent(t)

    const failure = (await agent.bind(request).catch((error: unknown) => error)) as ProtocolError

    assert.equal(failure.name, 'ProtocolError')
    assert.equal(failure.number, number)
    assert.deepEqual(platform.registry.tunnelsOf('ac_1'), [])
    assert.deepEqual([...platform.openPorts], [])
  })
}

test('a taken name is rejected with 334, and the port of a rejected bind is released', async (t) => {
  const platform = await startHarness(t, { reserved: { 'tcp.adit.test:20007': 'ac_1' } })
  const [one, two] = [await platform.agent(t), await platform.agent(t)]
  await one.bind(https({ Subdomain: 'a' }))
  await one.bind(tcp({ Addr: 'tcp.adit.test:20007' }))

  await assert.rejects(two.bind(https({ Subdomain: 'a' })), {
    number: 334,
    message: /https:\/\/a\.adit\.test/,
  })
  await assert.rejects(two.bind(tcp({ Addr: 'tcp.adit.test:20007' })), { number: 334 })

  assert.deepEqual([...platform.openPorts], [20_007])
})

test('our agent is told that browsers do not trust the certificate of its name', async (t) => {
  const lacksCertificate = (host: string) => host === 'a.b.adit.test'
  const reserved = { 'a.b.adit.test': 'ac_1' }
  const platform = await startHarness(t, { gateway: { lacksCertificate }, reserved })
  const agent = await platform.agent(t)

  const { Extra } = await agent.bind(https({ Domain: 'a.b.adit.test' }))

  assert.match(Extra.Warnings?.join() ?? '', /do not trust the certificate of a\.b\.adit\.test/)
  assert.ok(!('Warnings' in (await agent.bind(https({ Domain: 'a.adit.test' }))).Extra))
  assert.ok(!('Warnings' in (await agent.bind(http({ Domain: 'a.b.adit.test' }))).Extra))
})

test('our agent is told what its policy may not do as expected; others are told nothing', async (t) => {
  const platform = await startHarness(t, {})
  const TrafficPolicy = JSON.stringify({
    on_http_request: [{ expressions: ["'a' in req.headers['x-team']"], actions: [{ type: 'deny' }] }],
  })
  const [ours, other] = [
    await platform.agent(t),
    await platform.agent(t, { identity: agentIdentity({ userAgent: 'ngrok-rust/1.0' }) }),
  ]

  const { Extra } = await ours.bind(https({ TrafficPolicy }))
  const { Warnings = [] } = Extra
  assert.equal(Warnings.length, 1)
  assert.match(Warnings[0]!, /req\.headers\['x-team'\], which fails when there is none/)
  assert.ok(!('Warnings' in (await ours.bind(https({}))).Extra))
  assert.ok(!('Warnings' in (await other.bind(https({ TrafficPolicy }))).Extra))
})

/** Claims of two processes in one table. Both read the free ports before either of them claims one. */
function createClaims(): NonNullable<PlatformOptions['claims']> {
  const held = new Map<string, { tunnel: string; pooled: boolean }>()
  let reads = 0
  return {
    async claim({ name, tunnel, pooled }) {
      const holder = held.get(name)
      if (holder !== undefined && !(holder.pooled && pooled)) throw new ClaimRejected('held')
      held.set(name, { tunnel, pooled })
      return 1
    },
    release() {},
    async settled() {},
    async ports() {
      const others = [...held.keys()].map((name) => Number(name.split(':').at(-1)))
      return { reusable: [], unavailable: ++reads <= 2 ? [] : others }
    },
    setPooled(tunnel, pooled) {
      for (const holder of held.values()) if (holder.tunnel === tunnel) holder.pooled = pooled
    },
  }
}

for (const PoolingEnabled of [false, true])
  test(`two processes that choose one random port bind two, ${PoolingEnabled ? '' : 'not '}pooled`, async (t) => {
    const claims = createClaims()
    const processes = await Promise.all([startHarness(t, { claims }), startHarness(t, { claims })])
    const agents = await Promise.all(processes.map((platform) => platform.agent(t)))

    const bound = await Promise.all(
      agents.map((agent) => agent.bind({ ...tcp({}), Extra: { PoolingEnabled } })),
    )

    assert.equal(new Set(bound.map(({ URL }) => URL)).size, 2)
    // The port that was lost is closed again.
    assert.deepEqual(
      processes.map(({ openPorts }) => openPorts.size),
      [1, 1],
    )
  })

test('a bind fails with its own error when no port is free', async (t) => {
  const platform = await startHarness(t, {})
  for (let port = 20_000; port < 20_100; port++) platform.openPorts.add(port)
  const agent = await platform.agent(t)

  await assert.rejects(agent.bind(tcp({})), /No public TCP port is free/)
})

test('tunnels per session are limited, but an existing one may be rebound', async (t) => {
  const platform = await startHarness(t, { maxTunnelsPerSession: 2 })
  const agent = await platform.agent(t)
  const first = await agent.bind(https({ Subdomain: 'a' }))
  await agent.bind(https({ Subdomain: 'b' }))

  await assert.rejects(agent.bind(https({ Subdomain: 'c' })), { number: 324 })
  await assert.rejects(agent.startTunnelWithLabel({ Labels: { app: 'web' } }), { number: 324 })
  await agent.bind({ ...https({ Subdomain: 'a' }), Id: first.Id })

  assert.equal(platform.registry.tunnelsOf('ac_1').length, 2)
})

test('concurrent binds count against the limit of a session too', async (t) => {
  const platform = await startHarness(t, { maxTunnelsPerSession: 2 })
  const agent = await platform.agent(t)

  const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => agent.bind(https({}))))

  const rejected = outcomes.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[]
  assert.deepEqual(
    rejected.map(({ reason }) => reason.number),
    new Array(6).fill(324),
  )
  assert.equal(platform.registry.tunnelsOf('ac_1').length, 2)
  await assert.rejects(agent.startTunnelWithLabel({ Labels: { app: 'web' } }), { number: 324 })
})

test('the response repeats the options with the assigned address and the requested id', async (t) => {
  const platform = await startHarness(t, {})
  const agent = await platform.agent(t)

  const named = await agent.bind({
    ...https({ LocalUrlScheme: null, Compression: {}, Unknown: [1] }),
    Id: 'mine',
  })
  const addressed = await agent.bind(tcp({ ProxyProto: 1 }))
  const byUrl = await agent.bind(https({ URL: 'https://u.adit.test' }))

  const host = named.URL.slice('https://'.length)
  assert.equal(named.Id, 'mine')
  assert.deepEqual(named.Opts, {
    Hostname: '',
    Auth: '',
    Subdomain: '',
    HostHeaderRewrite: false,
    ProxyProto: 0,
    LocalUrlScheme: null,
    Compression: {},
    Unknown: [1],
    Domain: host,
  })
  assert.deepEqual(addressed.Opts, { Addr: 'tcp.adit.test:20000', ProxyProto: 1 })
  assert.equal((byUrl.Opts as { Domain?: string }).Domain, undefined)
})

test('labels are bound when the ACL allows each of them', async (t) => {
  const platform = await startHarness(t, { acl: ['bind:app=*'] })
  const agent = await platform.agent(t)

  const bound = await agent.startTunnelWithLabel({
    Labels: { app: 'web' },
    Metadata: 'm',
    ForwardsTo: 'localhost:80',
  })
  const forbidden = agent.startTunnelWithLabel({ Labels: { app: 'web', zone: 'a' } })

  await assert.rejects(forbidden, { number: 399, message: /zone=a/ })
  await assert.rejects(agent.startTunnelWithLabel({ Labels: {} }), /at least one label/)
  await assert.rejects(agent.startTunnelWithLabel({ Labels: { app: '' } }), /name and a value/)
  const [tunnel] = platform.registry.directory.findLabelled('ac_1', { app: 'web' })
  assert.equal(tunnel?.bindId, bound.Id)
  assert.equal(tunnel?.metadata, 'm')
})
