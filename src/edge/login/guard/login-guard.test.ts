import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { connect } from 'node:tls'
import { eventually } from '../../../../test/support/eventually.ts'
import { sendHttps } from '../../../../test/support/https-client.ts'
import { startTcp } from '../../../../test/support/local-server.ts'
import { HttpsEdge, HttpsRoute, TunnelGroupBackend } from '../../../resources/index.ts'
import { HOST } from '../../testing/https-edge.ts'
import { IDP, setCookies, startLoginPage as start } from '../../testing/login/login-page.ts'
import { createLocalTunnel } from '../../testing/tunnels.ts'

const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='
const ACCEPT = createHash('sha1').update(`${KEY}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
const AGREE = `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${ACCEPT}\r\n\r\n`

test('session cookies are bound to host, https and browser, and stay small', async (t) => {
  const groups = Array.from({ length: 2000 }, (_, index) => `group-${index}`)
  const { signIn, visit, begin } = await start(t, {}, { name: 'Ä'.repeat(5000), groups })

  const { lines, cookies } = await signIn()
  const { lines: pendingLines } = await begin(`/${'x'.repeat(6000)}`)

  const sessionLines = lines.filter((line) => !line.includes('Max-Age=0'))
  assert.deepEqual(
    sessionLines.map((line) => line.replace(/=[^;]+/, '=')),
    [
      'adit.session=; Path=/; HttpOnly; SameSite=Lax; Secure',
      '__Host-adit.session=; Path=/; HttpOnly; SameSite=Lax; Secure',
    ],
  )
  for (const line of [...sessionLines, ...pendingLines]) assert.ok(line.length < 4096, `${line.length} bytes`)
  assert.match(
    pendingLines[0]!,
    /^adit\.login\.[\w-]+=[\w-]+; Path=\/auth\/callback; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
  )
  assert.match(
    pendingLines[1]!,
    /^__Host-adit\.browser\.[\w-]+=[\w-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
  )
  assert.equal((await visit(cookies)).status, 200)
})

test('a session expires exactly at its maximum duration, however active it is', async (t) => {
  const { signIn, visit, time } = await start(t, { maximum_duration: 100 })
  const { cookies, lines } = await signIn()
  assert.match(lines[0]!, /Max-Age=86500;/)

  for (let second = 10; second < 100; second += 10) {
    time.now += 10_000
    assert.equal((await visit(cookies)).status, 200)
  }
  time.now += 9_000
  assert.equal((await visit(cookies)).status, 200)
  time.now += 1_000
  assert.equal((await visit(cookies)).status, 302)
})

test('a session expires exactly at its inactivity timeout', async (t) => {
  const { signIn, visit, time, cookiesOf } = await start(t, { inactivity_timeout: 60 })
  const { cookies } = await signIn()
  time.now += 59_000

  const { status, headers } = await visit(cookies)

  assert.equal(status, 200)
  const renewed = [...cookiesOf(setCookies(headers)), cookies[1]!]
  time.now += 1_000
  assert.equal((await visit(cookies)).status, 302, 'the cookie of before')
  time.now += 58_000
  assert.equal((await visit(renewed)).status, 200)
  time.now += 1_000
  assert.equal((await visit(renewed)).status, 302)
})

test('visitors must sign in again after auth_check_interval', async (t) => {
  const { signIn, visit, time } = await start(t, { auth_check_interval: 30, maximum_duration: 1000 })
  const { cookies } = await signIn()

  time.now += 29_000
  assert.equal((await visit(cookies)).status, 200)
  time.now += 1_000
  assert.equal((await visit(cookies)).status, 302)
})

test('OPTIONS passes without a session only with options_passthrough', async (t) => {
  const open = await start(t, { options_passthrough: true })
  const closed = await start(t)

  assert.equal((await open.sendRequest({ method: 'OPTIONS' })).status, 200)
  assert.equal((await open.sendRequest({ method: 'POST' })).status, 401)
  assert.equal((await closed.sendRequest({ method: 'OPTIONS' })).status, 401)
})

test('scripts get 401, page loads are redirected to sign in', async (t) => {
  const { sendRequest } = await start(t)

  assert.equal((await sendRequest({ headers: { 'sec-fetch-dest': 'empty' } })).status, 401)
  assert.equal((await sendRequest({ headers: { 'sec-fetch-dest': 'document' } })).status, 302)
})

test('a program without a session gets 401 and how to answer it, a browser the sign-in', async (t) => {
  const { sendRequest } = await start(t)
  const get = async (headers: Record<string, string>) => {
    const response = await sendRequest({ headers })
    return [response.status, response.headers['www-authenticate']]
  }

  for (const accept of ['*/*', 'application/json', 'text/plain'])
    assert.deepEqual(await get({ accept }), [401, 'Bearer realm="adit"'], accept)
  assert.deepEqual(await get({ accept: 'text/html,*/*;q=0.8' }), [302, undefined])
  assert.deepEqual(await get({ accept: '*/*', 'sec-fetch-dest': 'document' }), [302, undefined])
  assert.deepEqual(await get({}), [302, undefined], 'one that does not say what it accepts')
})

test('people who want to use another account are asked by the provider, and their session ends', async (t) => {
  const { signIn, visit, shared } = await start(t)
  const { cookies } = await signIn()

  const response = await visit(cookies, { path: '/auth/switch-account?return=%2Fpage%3Fx%3D1' })

  assert.equal(response.status, 302)
  assert.equal(new URL(String(response.headers.location)).searchParams.get('prompt'), 'select_account')
  assert.equal(shared.ended.length, 1)
  const expired = setCookies(response.headers).filter((line) => line.includes('Max-Age=0'))
  assert.ok(expired.some((line) => line.startsWith('adit.session=')))
  assert.equal((await visit(cookies)).status, 302)
})

test('people who use another account return to the page, and never to another host', async (t) => {
  const { finish, sendRequest, cookiesOf } = await start(t)
  const switchTo = async (target: string) => {
    const path = `/auth/switch-account?${new URLSearchParams({ return: target })}`
    const { headers } = await sendRequest({ path })
    const state = new URL(String(headers.location)).searchParams.get('state') ?? ''
    return String((await finish(state, cookiesOf(setCookies(headers)))).headers.location)
  }

  assert.equal(await switchTo('/page?x=1'), `https://${HOST}/page?x=1`)
  assert.equal(await switchTo('//evil.example/'), `https://${HOST}//evil.example/`)
  assert.equal(await switchTo('https://evil.example/'), `https://${HOST}/`)
  assert.equal(await switchTo('/\r\nSet-Cookie: a=b'), `https://${HOST}/`)
})

test('the page of people who may not enter leads on', async (t) => {
  const provider = {
    google: { client_id: 'app', client_secret: 'secret', scopes: [], email_domains: ['other.test'] },
  }
  const { begin, sendRequest } = await start(t, { provider })
  const { state } = await begin('/deep/page?x=1&y="')

  const { status, text } = await sendRequest({
    host: IDP,
    path: `/oauth2/callback?code=c&state=${state}`,
    headers: { accept: 'text/html' },
  })

  assert.equal(status, 403)
  const links = [...text.matchAll(/<a href="([^"]*)">([^<]*)</g)].map(([, url, label]) => [label, url])
  assert.deepEqual(links.slice(0, 2), [
    ['Use another account', `https://${HOST}/auth/switch-account?return=%2Fdeep%2Fpage%3Fx%3D1%26y%3D%22`],
    ['Open the page again', `https://${HOST}/deep/page?x=1&amp;y=&quot;`],
  ])
})

test('the cookie prefix is applied, and only the edge’s own cookies are hidden from the upstream', async (t) => {
  const { signIn, visit } = await start(t, { cookie_prefix: 'shop_' })
  const { cookies } = await signIn()
  assert.ok(cookies.some((cookie) => cookie.startsWith('shop_session=')))

  const { text } = await visit([
    ...cookies,
    'shop_theme=dark',
    'a=b',
    'shop_login.x=y',
    '__Host-shop_browser.x=y',
  ])

  const { headers } = JSON.parse(text) as { headers: Record<string, string> }
  assert.equal(headers.cookie, 'shop_theme=dark; a=b')
  assert.equal(headers['adit-auth-user-id'], '42')
})

test('a forged, duplicated or foreign session cookie is rejected', async (t) => {
  const { signIn, visit, config, backendId, oauth, tlsPort, ca } = await start(t)
  const { cookies } = await signIn()
  const again = await signIn()
  const edgeId = config.create(HttpsEdge, { hostports: ['other.adit.localhost:443'] })
  config.create(HttpsRoute, {
    edge_id: edgeId,
    match_type: 'path_prefix',
    match: '/',
    backend: { backend_id: backendId },
    oauth,
  })
  await config.waitUntilApplied()
  const [session = '', proof = ''] = cookies

  assert.equal((await visit([session])).status, 302, 'without what only this host can set')
  assert.equal((await visit([session, again.cookies[1]!])).status, 302, 'with that of another session')
  assert.equal((await visit([session, session, proof])).status, 302, 'twice')
  assert.notEqual(again.cookies[0], session, 'each sign-in is a new session')
  const elsewhere = await sendHttps(tlsPort, ca, {
    host: 'other.adit.localhost',
    headers: { cookie: cookies.join('; ') },
  })
  assert.equal(elsewhere.status, 302)
  assert.equal((await visit(cookies)).status, 200)
})

test('a sign-in completed on another node and a session revoked there are rejected', async (t) => {
  const { begin, finish, signIn, visit, logins, shared } = await start(t)
  const pending = await begin()
  const { cookies } = await signIn()
  const other = await signIn()
  const id = /login\.([\w-]+)=/.exec(pending.cookies[0]!)![1]!

  shared.used.add(`sign-in ${id}`)
  const { headers } = await finish(pending.state, pending.cookies)
  assert.deepEqual([headers.location, setCookies(headers)], [`https://${HOST}/page?x=1`, []])

  await visit(cookies, { path: '/auth/logout' })
  const [revocation] = shared.ended
  const subject = other.cookies[1]!.split('=')[1]!
  assert.equal((await visit(other.cookies)).status, 200)
  logins.applyRevocations([{ ...revocation!, subject }])
  assert.equal((await visit(other.cookies)).status, 302)
})

test('sign-in and sign-out fail with a clear error while the shared store is unavailable', async (t) => {
  const { begin, finish, signIn, visit, shared } = await start(t)
  const { cookies } = await signIn()
  const pending = await begin()
  shared.down = true

  const denied = await finish(pending.state, pending.cookies)
  const logout = await visit(cookies, { path: '/auth/logout' })

  assert.deepEqual([denied.status, logout.status], [503, 503])
  assert.match(logout.text, /Try again/)
  assert.equal((await visit(cookies)).status, 200, 'requests need nothing but the cookie')
  shared.down = false
  assert.equal((await visit(cookies, { path: '/auth/logout' })).status, 200)
  assert.equal((await visit(cookies)).status, 302)
})

test('callbacks that fail at the provider consume nothing in the shared store', async (t) => {
  const { begin, redeem, shared } = await start(t)
  const { state } = await begin()

  assert.equal((await redeem(state, 'error=access_denied')).status, 403)

  assert.equal(shared.used.size, 0)
})

test('changed settings end sessions, unrelated changes do not', async (t) => {
  const { signIn, visit, config, routeId, oauth } = await start(t)
  const { cookies } = await signIn()

  config.update(routeId, { description: 'another' })
  await config.waitUntilApplied()
  assert.equal((await visit(cookies)).status, 200)
  config.update(routeId, { oauth: { ...oauth, maximum_duration: 5000 } })
  await config.waitUntilApplied()
  assert.equal((await visit(cookies)).status, 302)
})

test('a route without /auth/ handles sign-in and sign-out on its own pages', async (t) => {
  const { config, routeId, begin, redeem, sendRequest, visit, cookiesOf } = await start(t)
  config.update(routeId, { match: '/app/' })
  await config.waitUntilApplied()
  const { state, cookies, lines } = await begin('/app/x?y=1')
  assert.match(lines[0]!, /Path=\/app\/x;/)
  const { ticket } = await redeem(state)
  assert.match(ticket, /^\/app\/x\?adit-login&ticket=/)

  const { status, headers } = await sendRequest({ path: ticket, headers: { cookie: cookies.join('; ') } })

  assert.deepEqual([status, headers.location], [303, `https://${HOST}/app/x?y=1`])
  const session = cookiesOf(setCookies(headers))
  assert.equal((await visit(session, { path: '/app/' })).status, 200)
  assert.match((await visit(session, { path: '/app/?adit-logout' })).text, /signed out/)
  assert.equal((await visit(session, { path: '/app/' })).status, 302)
})

const sessionEnds: Record<string, (page: Awaited<ReturnType<typeof start>>, cookies: string[]) => unknown> = {
  'signing out': ({ visit }, cookies) => visit(cookies, { path: '/auth/logout' }),
  'its longest duration': ({ time }) => {
    time.now += 1_000_000
  },
  'a change of the module': ({ config, routeId, oauth }) =>
    config.update(routeId, { oauth: { ...oauth, maximum_duration: 77 } }),
}

test('an open WebSocket ends with its session, and not before', { concurrency: true }, async (t) => {
  const cases = Object.entries(sessionEnds).map(([name, end]) =>
    t.test(`by ${name}`, async (t) => {
      const page = await start(t, { maximum_duration: 1000, inactivity_timeout: 500 })
      const { signIn, visit } = page
      await routeToWebSocket(t, page)
      const { cookies } = await signIn()
      const otherSocket = await openSocket(t, page, (await signIn()).cookies)
      const socket = await openSocket(t, page, cookies)
      assert.deepEqual([socket.closed, otherSocket.closed], [false, false])

      await end(page, cookies)

      await eventually(() => socket.closed, 'the WebSocket ended', 20_000)
      if (name === 'signing out') assert.equal(otherSocket.closed, false, 'the other session goes on')
      assert.notEqual((await visit(cookies)).status, 200)
    }),
  )
  await Promise.all(cases)
})

test('an open WebSocket ends when no request has renewed the identity of its session', async (t) => {
  const page = await start(t, { auth_check_interval: 100 })
  const { signIn, time, grant, logins } = page
  grant.refresh_token = 'r'
  const { cookies } = await signIn()
  await routeToWebSocket(t, page)
  const socket = await openSocket(t, page, cookies)

  time.now += 150_000
  await openSocket(t, page, cookies)
  time.now += 150_000
  logins.applyRevocations([])
  await openSocket(t, page, cookies)
  assert.equal(socket.closed, false)

  time.now += 250_000
  logins.applyRevocations([])
  await eventually(() => socket.closed, 'the WebSocket ended')
})

test('visitors of a route do not sign in again after auth_check_interval while the provider admits them', async (t) => {
  const profile: Record<string, unknown> = { name: 'Ada' }
  const provider = {
    google: { client_id: 'app', client_secret: 'secret', scopes: [], email_domains: ['example.com'] },
  }
  const { signIn, visit, time, grant } = await start(t, { auth_check_interval: 30, provider }, profile)
  grant.refresh_token = 'r'
  const { cookies } = await signIn()

  time.now += 31_000
  profile.name = 'Countess Ada'
  const changed = await visit(cookies, { method: 'POST' })
  assert.equal(changed.status, 200)
  assert.match(changed.text, /Countess Ada/)
  time.now += 31_000
  profile.email = 'ada@other.example'

  assert.equal((await visit(cookies)).status, 302)
})

test('the response that accepts a WebSocket carries the renewed session cookie', async (t) => {
  const page = await start(t, { inactivity_timeout: 60 })
  const { signIn, visit, time, cookiesOf } = page
  const { cookies } = await signIn()
  await routeToWebSocket(t, page)
  time.now += 59_000

  const { head } = await openSocket(t, page, cookies)

  const lines = Array.from(head.matchAll(/^Set-Cookie: (.+)\r$/gim), ([, line]) => line!)
  assert.deepEqual(
    lines.map((line) => line.replace(/=[^;]+/, '=')),
    ['adit.session=; Path=/; HttpOnly; SameSite=Lax; Secure'],
  )
  time.now += 2_000
  assert.equal((await visit(cookies)).status, 302, 'the cookie of before')
  assert.notEqual((await visit([...cookiesOf(lines), cookies[1]!])).status, 302, 'the renewed one')
})

/** Points the route at an upstream that accepts every WebSocket. */
async function routeToWebSocket(
  t: TestContext,
  { tunnels, config, routeId }: Awaited<ReturnType<typeof start>>,
): Promise<void> {
  const upstream = await startTcp(t, (socket) => socket.once('data', () => socket.write(AGREE)))
  tunnels.tunnels.push(createLocalTunnel(upstream, { labels: { app: 'ws' } }))
  const backend_id = config.create(TunnelGroupBackend, { labels: { app: 'ws' } })
  config.update(routeId, { backend: { backend_id } })
  await config.waitUntilApplied()
}

async function openSocket(
  t: TestContext,
  { tlsPort, ca }: { tlsPort: number; ca: string },
  cookies: readonly string[],
) {
  const socket = connect({
    port: tlsPort,
    host: '127.0.0.1',
    servername: HOST,
    ca,
    ALPNProtocols: ['http/1.1'],
  })
  t.after(() => socket.destroy())
  const state = { closed: false, head: '' }
  socket.on('error', () => {})
  socket.on('close', () => {
    state.closed = true
  })
  await once(socket, 'secureConnect')
  socket.write(
    `GET /ws HTTP/1.1\r\nHost: ${HOST}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n` +
      `Sec-WebSocket-Key: ${KEY}\r\nCookie: ${cookies.join('; ')}\r\n\r\n`,
  )
  const [head] = (await once(socket, 'data')) as [Buffer]
  state.head = head.toString()
  assert.match(state.head, /^HTTP\/1\.1 101 /)
  return state
}

test('a session is listed when it starts, and its activity once a minute', async (t) => {
  const { signIn, visit, shared, time } = await start(t)
  const startedAt = time.now

  const { cookies } = await signIn()
  const [session] = shared.sessions
  for (const seconds of [1, 61, 62, 130]) {
    time.now = startedAt + seconds * 1000
    assert.equal((await visit(cookies)).status, 200)
  }

  assert.equal(shared.sessions.length, 1)
  assert.deepEqual(session?.profile, {
    identity_provider: { name: 'google', url: 'https://accounts.google.com' },
    provider_user_id: '42',
    username: '',
    email: 'ada@example.com',
    name: 'Ada',
  })
  assert.deepEqual(
    shared.activity.map(({ id, lastActive }) => [id, Math.floor((lastActive - startedAt) / 60_000)]),
    [
      [session.id, 1],
      [session.id, 2],
    ],
  )
})

test('revoking a person ends all their sessions in the account and nowhere else', async (t) => {
  const { signIn, visit, shared, logins, time } = await start(t)
  const [first, second] = [await signIn(), await signIn()]
  const { account, user } = shared.sessions[0]!
  const statuses = async () => [(await visit(first.cookies)).status, (await visit(second.cookies)).status]
  const revoke = (scopeId: string) =>
    logins.applyRevocations([{ scopeId, subject: user, latestStart: time.now, expiresAt: time.now + 60_000 }])

  revoke('another account')
  assert.deepEqual(await statuses(), [200, 200])
  revoke(account)

  assert.deepEqual(await statuses(), [302, 302])
})
