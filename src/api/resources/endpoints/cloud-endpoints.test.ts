import assert from 'node:assert/strict'
import { test } from 'node:test'
import { engines } from '../../../../test/support/engines.ts'
import { createOnline } from '../../../../test/support/online.ts'
import { nextNumber } from '../../../../test/support/samples.ts'

const DENY = 'on_http_request: [{actions: [{type: deny}]}]'
const FORWARD = 'forward-internal, config: {url: "https://a.internal", on_error: continue}'

/** A policy whose sign-in has cookies of this domain. */
const signIn = (domain: string) =>
  `on_http_request: [{actions: [{type: oauth, config: {provider: github, client_id: a, client_secret: b, auth_cookie_domain: ${domain}}}, {type: deny}]}]`

/** Policies that may leave a request without an answer. */
const INCOMPLETE = [
  'on_http_request: []',
  'on_http_request: [{expressions: ["req.method == \'GET\'"], actions: [{type: deny}]}]',
  'on_http_request: [{actions: [{type: redirect, config: {to: /a}}]}]',
  `on_http_request: [{actions: [{type: ${FORWARD}}]}]`,
]

for (const [engine, start] of Object.entries(engines))
  test(`cloud endpoints are checked against policies, reservations, edges and each other (${engine})`, async (t) => {
    const online = createOnline()
    const { call, callAsOther, account } = await start(t, { online })
    const host = `app${nextNumber()}.adit.localhost`
    const domain = await call.create('/reserved_domains', { domain: host })
    const edgeHost = `edge${nextNumber()}.adit.localhost`
    await call.create('/reserved_domains', { domain: edgeHost })
    await call.create('/edges/https', { hostports: [`${edgeHost}:443`] })
    const post = async (body: object, caller = call) => {
      const { status, body: shown } = await caller('POST', '/endpoints', {
        body: { traffic_policy: DENY, ...body },
      })
      return [status, shown.error_code ?? shown.url]
    }

    const endpoint = await call.create('/endpoints', { url: `https://${host}:443/`, traffic_policy: DENY })
    const internal = await call.create('/endpoints', { url: 'https://a.internal', traffic_policy: DENY })

    assert.deepEqual(
      [endpoint.url, endpoint.domain.id, endpoint.hostport, endpoint.bindings, endpoint.type],
      [`https://${host}`, domain.id, `${host}:443`, ['public'], 'cloud'],
    )
    assert.deepEqual([internal.bindings, internal.domain], [['internal'], null])
    for (const traffic_policy of INCOMPLETE)
      assert.deepEqual(await post({ url: 'https://b.internal', traffic_policy }), [400, 'ERR_ADIT_2235'])
    for (const [domain, code] of [
      ['adit.localhost', 'ERR_ADIT_2241'],
      [edgeHost, 'ERR_ADIT_2241'],
      ['a_b', 'ERR_ADIT_2243'],
    ] as const)
      assert.deepEqual(await post({ url: `https://x.${host}`, traffic_policy: signIn(domain) }), [400, code])
    assert.deepEqual(await post({ url: `http://${host}`, traffic_policy: signIn(host) }, callAsOther), [
      400,
      'ERR_ADIT_2241',
    ])
    assert.deepEqual(await post({ url: 'https://s.internal', traffic_policy: signIn(host) }), [
      201,
      'https://s.internal',
    ])
    assert.deepEqual(await post({ url: `https://${host}` }), [409, 'ERR_ADIT_18017'])
    assert.deepEqual(await post({ url: `https://${host}`, pooling_enabled: true }), [409, 'ERR_ADIT_18016'])
    assert.deepEqual(await post({ url: `http://${host}` }), [201, `http://${host}`])
    assert.deepEqual(await post({ url: 'https://unreserved.example.com' }), [400, 'ERR_ADIT_18006'])
    assert.deepEqual(await post({ url: `https://${host}` }, callAsOther), [400, 'ERR_ADIT_18006'])
    assert.deepEqual(await post({ url: 'https://a.internal' }, callAsOther), [201, 'https://a.internal'])
    assert.deepEqual(await post({ url: `https://${edgeHost}` }), [409, 'ERR_ADIT_6027'])
    assert.deepEqual(await post({ url: `https://${host}:8443` }), [400, 'ERR_ADIT_18023'])
    assert.deepEqual(await post({ url: 'https://c.internal', bindings: ['public'] }), [400, 'ERR_ADIT_18007'])
    const edge = await call('POST', '/edges/https', { body: { hostports: [`${host}:443`] } })
    const scheme = await call('PATCH', `/endpoints/${endpoint.id}`, { body: { url: `http://${host}` } })
    const inUse = await call('DELETE', `/reserved_domains/${domain.id}`)
    assert.deepEqual(
      [edge, scheme, inUse].map(({ status, body }) => [status, body.error_code]),
      [
        [409, 'ERR_ADIT_6027'],
        [400, 'ERR_ADIT_18005'],
        [409, 'ERR_ADIT_446'],
      ],
    )
    const agent = online.putOnline(account.accountId, '').endpoint
    for (const method of ['PATCH', 'DELETE'])
      assert.equal(
        (await call(method, `/endpoints/${agent}`, method === 'PATCH' ? { body: {} } : {})).status,
        404,
      )
  })

const CLOSE = 'on_tcp_connect: [{actions: [{type: deny}]}]'

for (const [engine, start] of Object.entries(engines))
  test(`tcp and tls cloud endpoints are at reserved addresses and domains, or internal (${engine})`, async (t) => {
    const online = createOnline()
    const { call, account, callAsOther } = await start(t, { online })
    const host = `raw${nextNumber()}.adit.localhost`
    await call.create('/reserved_domains', { domain: host })
    const { id: addressId, addr } = await call.create('/reserved_addrs', {})
    const edgeAddr = (await call.create('/reserved_addrs', {})).addr
    await call.create('/edges/tcp', { hostports: [edgeAddr] })
    const post = async (url: string, traffic_policy = CLOSE, caller = call) => {
      const { status, body } = await caller('POST', '/endpoints', { body: { url, traffic_policy } })
      return [status, body.error_code ?? body.url]
    }
    const { endpoint } = online.putOnline(account.accountId, '')
    Object.assign(online.endpoints(account.accountId).find(({ id }) => id === endpoint)!, {
      ...{ url: 'tcp://db.internal:5432', proto: 'tcp', host: 'db.internal', port: 5432 },
      bindings: ['internal'],
    })

    const { id, tcp_addr, domain } = await call.create('/endpoints', {
      url: `tcp://${addr}`,
      traffic_policy: CLOSE,
    })

    assert.deepEqual([tcp_addr.id, domain], [addressId, null])
    assert.deepEqual(await post(`tcp://${addr}`), [409, 'ERR_ADIT_18017'])
    assert.deepEqual(await post(`tcp://${addr}`, CLOSE, callAsOther), [400, 'ERR_ADIT_18006'])
    assert.deepEqual(await post(`tcp://${edgeAddr}`), [409, 'ERR_ADIT_6027'])
    assert.deepEqual(await post(`tls://${host}`), [201, `tls://${host}`])
    assert.deepEqual(await post(`https://${host}`, DENY), [409, 'ERR_ADIT_18016'])
    assert.deepEqual(await post('tls://a.internal', DENY), [400, 'ERR_ADIT_2230'])
    assert.deepEqual(await post('tls://a.internal', 'on_tcp_connect: []'), [400, 'ERR_ADIT_2235'])
    assert.deepEqual(await post('tcp://a.internal'), [400, 'ERR_ADIT_18003'])
    // An agent's endpoint at another port is no conflict.
    assert.deepEqual(await post('tcp://db.internal:5432'), [409, 'ERR_ADIT_18017'])
    assert.deepEqual(await post('tcp://db.internal:5433'), [201, 'tcp://db.internal:5433'])
    const edge = await call('POST', '/edges/tcp', { body: { hostports: [addr] } })
    const inUse = await call('DELETE', `/reserved_addrs/${addressId}`)
    assert.deepEqual(
      [edge, inUse].map(({ status, body }) => [status, body.error_code]),
      [
        [409, 'ERR_ADIT_6027'],
        [409, 'ERR_ADIT_446'],
      ],
    )
    assert.equal((await call('DELETE', `/endpoints/${id}`)).status, 204)
  })

test('endpoints at one URL pool when all of them allow it', async (t) => {
  const { call } = await engines.SQLite!(t)
  const body = { url: 'https://pool.internal', traffic_policy: DENY, pooling_enabled: true }
  const first = await call.create('/endpoints', body)
  await call.create('/endpoints', body)

  const alone = await call('PATCH', `/endpoints/${first.id}`, { body: { pooling_enabled: false } })
  const { body: page } = await call(
    'GET',
    `/endpoints?filter=${encodeURIComponent('obj.type == "cloud" && obj.url == "https://pool.internal"')}`,
  )

  assert.deepEqual([alone.status, alone.body.error_code], [409, 'ERR_ADIT_18017'])
  assert.equal(page.endpoints.length, 2)
  const [newer, older] = page.endpoints
  assert.deepEqual(
    [newer.pools, older.pools],
    [[{ id: older.id, uri: older.uri }], [{ id: newer.id, uri: newer.uri }]],
  )
})

test('a pool has the endpoints of agents and of the cloud, without those at other URLs', async (t) => {
  const online = createOnline()
  const { call, account } = await engines.SQLite!(t, { online })
  const ids = ['https://pool.internal', 'https://pool.internal', 'https://pool.internal:8443'].map((url) => {
    const { endpoint } = online.putOnline(account.accountId, '')
    const view = online.endpoints(account.accountId).find(({ id }) => id === endpoint)!
    Object.assign(view, { url, host: 'pool.internal', bindings: ['internal'], pooling_enabled: true })
    return endpoint
  })
  const { id: cloud } = await call.create('/endpoints', {
    url: 'https://pool.internal',
    traffic_policy: DENY,
    pooling_enabled: true,
  })
  const poolOf = async (id: string) =>
    (await call('GET', `/endpoints/${id}`)).body.pools.map((other: { id: string }) => other.id).sort()

  assert.deepEqual(await poolOf(cloud), ids.slice(0, 2).sort())
  assert.deepEqual(await poolOf(ids[0]!), [ids[1], cloud].sort())
  assert.deepEqual(await poolOf(ids[2]!), [])
  const listed = (await call('GET', '/endpoints')).body.endpoints
  assert.deepEqual(listed.map(({ pools }: { pools: object[] }) => pools.length).sort(), [0, 2, 2, 2])
})

test('the answer to a write warns of expressions that may fail or never do what they say', async (t) => {
  const { call } = await engines.SQLite!(t)
  const rule = (expression: string) =>
    `on_http_request: [{expressions: ["${expression}"], actions: [{type: deny}]}, {actions: [{type: deny}]}]`
  const write = (traffic_policy: string) =>
    call('POST', '/endpoints', { body: { url: `https://w${nextNumber()}.internal`, traffic_policy } })
  const warningOf = async (expression: string) => (await write(rule(expression))).headers.get('warning')

  assert.match(
    (await warningOf("req.headers['x-key'][0] == 'a'")) ?? '',
    /^299 - "on_http_request, rule 1.*: it reads req\.headers\['x-key'\], which fails when there is none/,
  )
  assert.match((await warningOf("conn.geo.country == 'a'")) ?? '', /empty without IP data about places/)
  assert.match(
    (await warningOf('actions.ngrok.oauth.identity.id == req.host')) ?? '',
    /no oauth action comes before/,
  )
  assert.equal(await warningOf("req.method == 'PUT'"), null)
  const { body: endpoint } = await write(rule("req.headers['x-key'][0] == 'a'"))
  const unchanged = await call('PATCH', `/endpoints/${endpoint.id}`, { body: { description: 'a' } })
  assert.deepEqual([unchanged.status, unchanged.headers.get('warning')], [200, null])
})

test('mistakes in cloud endpoints have the numbers of the original', async (t) => {
  const { call } = await engines.SQLite!(t)
  const base = { url: 'https://a.internal', traffic_policy: DENY }
  const codeOf = async (changes: object) => {
    const { status, body } = await call('POST', '/endpoints', { body: { ...base, ...changes } })
    return [status, Number(body.error_code.slice('ERR_ADIT_'.length)), body.details.field]
  }

  assert.deepEqual(await codeOf({ url: 'https://a b' }), [400, 18001, 'url'])
  assert.deepEqual(await codeOf({ url: 'https://a.internal:0' }), [400, 18003, 'url'])
  assert.deepEqual(await codeOf({ url: 'ftp://a.internal' }), [400, 18022, 'url'])
  assert.deepEqual(await codeOf({ url: 'a.internal' }), [400, 18022, 'url'])
  assert.deepEqual(await codeOf({ url: undefined }), [400, 18015, 'url'])
  assert.deepEqual(await codeOf({ traffic_policy: undefined }), [400, 18011, 'traffic_policy'])
  assert.deepEqual(await codeOf({ traffic_policy: '' }), [400, 18011, 'traffic_policy'])
  assert.deepEqual(await codeOf({ bindings: ['private'] }), [400, 18007, 'bindings[0]'])
  assert.deepEqual(await codeOf({ description: 'x'.repeat(256) }), [400, 18012, 'description'])
  assert.deepEqual(await codeOf({ metadata: 'x'.repeat(4097) }), [400, 18013, 'metadata'])
  assert.deepEqual(await codeOf({ pooling_enabled: 'yes' }), [400, 18014, 'pooling_enabled'])
})
