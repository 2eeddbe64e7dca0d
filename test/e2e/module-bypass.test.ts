import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect as connectHttp2, type OutgoingHttpHeaders } from 'node:http2'
import { request as requestHttps } from 'node:https'
import { type TestContext, test } from 'node:test'
import { createClientAuthority } from '../../src/edge/testing/client-certificates.ts'
import { eventually, eventuallyEqual } from '../support/eventually.ts'
import { listen } from '../support/local-server.ts'
import { startPlatform } from '../support/platform.ts'
import { connectLabelled } from './edge-harness.ts'

const HOST = 'shop.adit.localhost'
const PROBE = '/probe'
const SECRET = 'the secret of the webhooks'
const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='
const ACCEPT = createHash('sha1').update(`${KEY}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
const UPGRADE = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-key': KEY }
const sign = (body: string) => `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`

/** Starts a platform with an HTTPS edge in front of an agent, whose service records what it receives. */
async function startShop(t: TestContext) {
  const platform = await startPlatform(t)
  const { call, caPem } = platform
  const received: string[] = []
  const server = createServer((request, response) => {
    // A probe that a change ends while it is under way may arrive after the change has been noticed.
    if (request.url !== PROBE) received.push(`${request.method} ${request.url}`)
    request.resume()
    request.on('end', () => response.end('ok'))
  })
  server.on('upgrade', (request, socket) => {
    received.push(`upgrade ${request.url}`)
    socket.end(
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
        `Sec-WebSocket-Accept: ${ACCEPT}\r\n\r\n`,
    )
  })
  await connectLabelled(t, platform, await listen(t, server), { app: 'shop' })
  await call.create('/reserved_domains', { domain: HOST })
  const backend = await call.create('/backends/tunnel_group', { labels: { app: 'shop' } })
  const edge = await call.create('/edges/https', { hostports: [`${HOST}:443`] })
  const edgePath = `/edges/https/${edge.id}`
  const route = await call.create(`${edgePath}/routes`, {
    match_type: 'path_prefix',
    match: '/',
    backend: { backend_id: backend.id },
  })
  const port = Number(new URL(platform.credentials.https_url).port)
  const tls = { host: '127.0.0.1', servername: HOST, ca: caPem }

  /** The status of a request, 0 when the connection was closed without one. */
  async function send(
    method: string,
    headers: OutgoingHttpHeaders = {},
    body = '',
    path = '/',
  ): Promise<number> {
    const request = requestHttps({
      ...tls,
      port,
      agent: false,
      method,
      path,
      headers: { host: HOST, ...headers },
    })
    t.after(() => request.destroy())
    request.end(body)
    try {
      const [response] = await Promise.race(
        ['response', 'upgrade', 'connect', 'close'].map((event) => once(request, event)),
      )
      response?.socket.on('error', () => {})
      response?.resume()
      return response?.statusCode ?? 0
    } catch {
      return 0
    }
  }

  async function sendHttp2(headers: OutgoingHttpHeaders): Promise<number> {
    const session = connectHttp2(`https://${HOST}:${port}`, {
      ...tls,
      lookup: (_host, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]),
      settings: { enableConnectProtocol: true },
    })
    t.after(() => session.destroy())
    session.on('error', () => {})
    let status = 0
    let closed = false
    session.once('remoteSettings', () => {
      const stream = session.request({ ':authority': HOST, ...headers }, { endStream: false })
      stream.on('response', (fields) => {
        status = fields[':status'] ?? 0
      })
      stream.on('error', () => {})
      stream.on('close', () => {
        closed = true
      })
      stream.end()
    })
    // A session that a TLS alert has destroyed emits no event.
    await eventually(() => status !== 0 || closed || session.destroyed, 'an outcome')
    return status
  }

  /** The status that a request has now; the service does not record it. */
  const probe = (method = 'GET', body = '') => send(method, {}, body, PROBE)
  await eventuallyEqual(() => probe(), 200)
  return { platform, received, send, sendHttp2, probe, edgePath, routePath: `${edgePath}/routes/${route.id}` }
}

type Shop = Awaited<ReturnType<typeof startShop>>

/** Ways to reach the service; `open` is the status without a module. */
const WAYS: Readonly<Record<string, { open: number; send(shop: Shop): Promise<number> }>> = {
  'a request': { open: 200, send: ({ send }) => send('GET') },
  'an upload': { open: 200, send: ({ send }) => send('POST', {}, 'body') },
  'a WebSocket': { open: 101, send: ({ send }) => send('GET', UPGRADE) },
  'a WebSocket with a body': {
    open: 400,
    send: ({ send }) => send('GET', { ...UPGRADE, 'content-length': 4 }, 'body'),
  },
  'an upgrade to HTTP/2': {
    open: 200,
    send: ({ send }) =>
      send('GET', {
        connection: 'Upgrade, HTTP2-Settings',
        upgrade: 'h2c',
        'http2-settings': 'AAMAAABkAAQAAP__',
      }),
  },
  'a request over HTTP/2': { open: 200, send: ({ sendHttp2 }) => sendHttp2({ ':path': '/' }) },
  'extended CONNECT': {
    open: 0,
    send: ({ sendHttp2 }) =>
      sendHttp2({ ':method': 'CONNECT', ':protocol': 'websocket', ':scheme': 'https', ':path': '/' }),
  },
  CONNECT: { open: 405, send: ({ send }) => send('CONNECT', {}, '', `${HOST}:443`) },
  TRACE: { open: 200, send: ({ send }) => send('TRACE') },
  'the path of the log-in host': {
    open: 200,
    send: ({ send }) => send('GET', {}, '', '/oauth2/callback?code=a'),
  },
}

/** Modules that admit none of these ways. */
const MODULES: Readonly<
  Record<string, { path(shop: Shop): string; settings(shop: Shop): Promise<unknown> | unknown }>
> = {
  ip_restriction: {
    path: ({ routePath }) => `${routePath}/ip_restriction`,
    async settings({ platform: { call } }) {
      const { id } = await call.create('/ip_policies', {})
      await call.create('/ip_policy_rules', { ip_policy_id: id, cidr: '127.0.0.0/8', action: 'deny' })
      return { ip_policy_ids: [id] }
    },
  },
  user_agent_filter: {
    path: ({ routePath }) => `${routePath}/user_agent_filter`,
    settings: () => ({ deny: ['.*'] }),
  },
  webhook_verification: {
    path: ({ routePath }) => `${routePath}/webhook_verification`,
    settings: () => ({ provider: 'github', secret: SECRET }),
  },
  saml: {
    path: ({ routePath }) => `${routePath}/saml`,
    settings: () => ({ idp_metadata_url: 'https://id.test/metadata' }),
  },
  mutual_tls: {
    path: ({ edgePath }) => `${edgePath}/mutual_tls`,
    async settings({ platform: { call } }) {
      const { ca } = await createClientAuthority('another authority')
      return {
        certificate_authority_ids: [(await call.create('/certificate_authorities', { ca_pem: ca })).id],
      }
    },
  },
}

test('no way to send a request goes around a module, over HTTP/1 or HTTP/2', async (t) => {
  const shop = await startShop(t)
  const { call } = shop.platform
  const list = async () => {
    const statuses: [string, number][] = []
    for (const [way, { send }] of Object.entries(WAYS)) statuses.push([way, await send(shop)])
    return Object.fromEntries(statuses)
  }
  const open = Object.fromEntries(Object.entries(WAYS).map(([way, { open }]) => [way, open]))
  assert.deepEqual(await list(), open)

  for (const [name, { path, settings }] of Object.entries(MODULES)) {
    const body = await settings(shop)
    assert.equal((await call('PUT', path(shop), { body })).status, 200, name)
    await eventually(async () => (await shop.probe()) !== 200, `${name} is in effect`)
    shop.received.length = 0

    const statuses = await list()

    assert.deepEqual(shop.received, [], `${name}: ${JSON.stringify(statuses)}`)
    assert.equal((await call('DELETE', path(shop))).status, 204)
    await eventuallyEqual(() => shop.probe(), 200)
  }
})

test('a webhook is admitted with a valid signature of exactly its body, and in no other form', async (t) => {
  const shop = await startShop(t)
  const { send, probe, received } = shop
  const { path, settings } = MODULES.webhook_verification!
  const body = '{"event":"push"}'
  const signature = sign(body)
  await shop.platform.call('PUT', path(shop), { body: await settings(shop) })
  await eventually(async () => (await probe('POST', body)) !== 200)
  const field = 'x-hub-signature-256'
  const attacks: readonly [string, OutgoingHttpHeaders, string?][] = [
    ['none', {}],
    ['another body', { [field]: signature }, '{"event":"Push"}'],
    ['a longer body', { [field]: signature }, `${body} `],
    ['an empty body', { [field]: signature }, ''],
    ['two signatures', { [field]: [sign('x'), signature] }],
    ['a truncated signature', { [field]: signature.slice(0, -1) }],
    ['the digest alone', { [field]: signature.slice('sha256='.length) }],
    ['another algorithm', { [field]: signature.replace('sha256', 'sha1') }],
    ['the older field', { 'x-hub-signature': signature }],
  ]

  for (const [title, headers, sentBody = body] of attacks) {
    await send('POST', headers, sentBody)
    assert.deepEqual(received, [], title)
  }
  assert.equal(await send('POST', { [field]: signature }, body), 200)
  assert.deepEqual(received, ['POST /'])
})

test('a static backend reaches no address of the machine or its network, in any spelling', async (t) => {
  const { platform, received, send, routePath } = await startShop(t)
  const service = createServer((request, response) => {
    received.push(`static ${request.url}`)
    response.end('secret')
  })
  const port = await listen(t, service, '0.0.0.0')
  const hosts = [
    ...['127.0.0.1', '127.1', '2130706433', '0x7f000001', '0177.0.0.1', '0.0.0.0', 'localhost', 'LOCALHOST.'],
    ...[
      '[::1]',
      '[::]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[64:ff9b::7f00:1]',
      '169.254.169.254',
      '10.0.0.1',
    ],
  ]

  for (const host of hosts) {
    const { status, body } = await platform.call('POST', '/backends/static', {
      body: { address: `${host}:${port}` },
    })
    if (status !== 201) {
      assert.equal(status, 400, host)
      continue
    }
    const replaced = await platform.call('PUT', `${routePath}/backend`, { body: { backend_id: body.id } })
    assert.equal(replaced.status, 200, host)
    received.length = 0
    // The edge may still use the old backend for a moment.
    await eventually(async () => (await send('GET', {}, '', '/probe')) >= 500, `${host} is rejected`)
    assert.ok(!received.includes('static /probe'), host)
  }
})
