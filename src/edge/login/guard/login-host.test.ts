import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sendHttps } from '../../../../test/support/https-client.ts'
import { HttpsEdge, HttpsRoute } from '../../../resources/index.ts'
import { HOST } from '../../testing/https-edge.ts'
import { IDP, setCookies, startLoginPage as start } from '../../testing/login/login-page.ts'

type LoginPage = Awaited<ReturnType<typeof start>>

test('the login host redeems the code, and the page receives a ticket and nothing of the provider', async (t) => {
  const { begin, redeem, redeemed, sendRequest, visit, cookiesOf } = await start(t)
  const { state, cookies } = await begin()

  const { status, ticket } = await redeem(state, 'code=the-code&session_state=x')

  assert.equal(status, 303)
  assert.deepEqual(redeemed, ['the-code'])
  assert.match(ticket, /^\/auth\/callback\?ticket=[\w-]+$/)
  const completed = await sendRequest({ path: ticket, headers: { cookie: cookies.join('; ') } })
  assert.deepEqual([completed.status, completed.headers.location], [303, `https://${HOST}/page?x=1`])
  assert.equal((await visit(cookiesOf(setCookies(completed.headers)))).status, 200)
})

test('a protected page does not accept provider responses itself', async (t) => {
  const { begin, sendRequest, redeemed } = await start(t)
  const { state, cookies } = await begin()
  const headers = { cookie: cookies.join('; ') }

  for (const query of [`code=c&state=${state}`, `ticket=${state}`, 'ticket=x', 'ticket=', ''])
    assert.equal((await sendRequest({ path: `/auth/callback?${query}`, headers })).status, 403, query)
  assert.deepEqual(redeemed, [])
})

const changes: Record<string, (page: LoginPage) => void> = {
  'the module has other settings': ({ config, routeId, oauth }) =>
    config.update(routeId, { oauth: { ...oauth, maximum_duration: 77 } }),
  'the module has another client': ({ config, routeId }) =>
    config.update(routeId, { oauth: { provider: { google: { client_id: 'b', client_secret: 'c' } } } }),
  'the module is switched off': ({ config, routeId, oauth }) =>
    config.update(routeId, { oauth: { ...oauth, enabled: false } }),
  'the module is gone': ({ config, routeId }) => config.update(routeId, { oauth: null }),
  'another module stands there': ({ config, routeId }) =>
    config.update(routeId, {
      oauth: null,
      oidc: { issuer: 'https://login.example', client_id: 'b', client_secret: 'c' },
    }),
  'the route is gone': ({ config, routeId }) => config.remove(routeId),
  'the route is elsewhere': ({ config, routeId }) => config.update(routeId, { match: '/elsewhere/' }),
  'the edge is gone': ({ config, edgeId }) => config.remove(edgeId),
  'the host is another edge’s': ({ config, edgeId, backendId, oauth }) => {
    config.update(edgeId, { hostports: ['moved.adit.localhost:443'] })
    const edge_id = config.create(HttpsEdge, { hostports: [`${HOST}:443`] })
    const backend = { backend_id: backendId }
    config.create(HttpsRoute, { edge_id, match_type: 'path_prefix', match: '/', backend, oauth })
  },
}

for (const [name, change] of Object.entries(changes))
  test(`states and tickets are invalid once ${name}`, async (t) => {
    const page = await start(t)
    const { begin, redeem, redeemed, sendRequest, config } = page
    const [first, second] = [await begin(), await begin()]
    const { ticket } = await redeem(first.state, 'code=first')

    change(page)
    await config.waitUntilApplied()

    const rejected = await redeem(second.state, 'code=second')
    assert.deepEqual([rejected.status, redeemed], [403, ['first']], 'the code went nowhere')
    const { status, headers } = await sendRequest({
      path: ticket,
      headers: { cookie: first.cookies.join('; ') },
    })
    assert.notEqual(status, 303)
    assert.ok(!setCookies(headers).some((line) => line.includes('session=')), 'no session is created')
  })

test('a ticket is valid once, for a minute, and in the browser that started the sign-in; a used one leads back', async (t) => {
  const { begin, redeem, sendRequest, time, shared } = await start(t)
  const redeemTicket = async (ticket: string, cookies: readonly string[]) => {
    const { status, headers } = await sendRequest({ path: ticket, headers: { cookie: cookies.join('; ') } })
    if (setCookies(headers).length > 0) return 'a session'
    return status === 303 ? String(headers.location) : status
  }
  const isProof = (cookie: string) => cookie.startsWith('__Host-adit.browser.')
  async function getTicket() {
    const { state, cookies } = await begin()
    const id = /browser\.([\w-]+)=/.exec(cookies.find(isProof) ?? '')?.[1] ?? ''
    return { ...(await redeem(state)), cookies, id }
  }
  const other = await begin()
  const back = `https://${HOST}/page?x=1`

  const wrong: Record<string, (cookies: readonly string[]) => readonly string[]> = {
    'another browser': () => [],
    'the cookies of another sign-in': () => other.cookies,
    'what another host of the domain can set': (cookies) => cookies.filter((cookie) => !isProof(cookie)),
    'the proof alone': (cookies) => cookies.filter(isProof),
    'another proof': (cookies) => cookies.map((cookie) => (isProof(cookie) ? `${cookie}x` : cookie)),
  }
  for (const [name, change] of Object.entries(wrong)) {
    const { ticket, cookies } = await getTicket()
    assert.equal(await redeemTicket(ticket, change(cookies)), 403, name)
    assert.equal(await redeemTicket(ticket, cookies), back, `${name}, and then the right one`)
  }
  const valid = await getTicket()
  assert.equal(await redeemTicket(valid.ticket, valid.cookies), 'a session')
  assert.equal(await redeemTicket(valid.ticket, valid.cookies), back, 'twice')
  const elsewhere = await getTicket()
  shared.used.add(`sign-in ${elsewhere.id}`)
  assert.equal(await redeemTicket(elsewhere.ticket, elsewhere.cookies), back, 'used on another node')
  const expired = await getTicket()
  time.now += 60_001
  assert.equal(await redeemTicket(expired.ticket, expired.cookies), 403, 'too late')
  assert.equal(await redeemTicket(expired.ticket, []), back, 'too late, and the browser has forgotten it')
})

test('a ticket is valid only at the origin where the sign-in started', async (t) => {
  const { begin, redeem, sendRequest, config, edgeId, backendId, oauth } = await start(t)
  config.update(edgeId, { hostports: [`${HOST}:443`, 'second.adit.localhost:443'] })
  const edge_id = config.create(HttpsEdge, { hostports: ['other.adit.localhost:443'] })
  const backend = { backend_id: backendId }
  config.create(HttpsRoute, { edge_id, match_type: 'path_prefix', match: '/', backend, oauth })
  await config.waitUntilApplied()
  const { state, cookies } = await begin()
  const { ticket: path } = await redeem(state)
  const headers = { cookie: cookies.join('; ') }

  for (const host of ['second.adit.localhost', 'other.adit.localhost', `${HOST}:443`, `${HOST}:21000`])
    assert.equal(
      (await sendRequest({ host, path, headers, servername: host.split(':')[0]! })).status,
      403,
      host,
    )
  assert.equal((await sendRequest({ path, headers })).status, 303)
})

test('a state is valid once, for ten minutes, and at the redirect URI of its provider; a used one leads back', async (t) => {
  const { begin, redeem, sendRequest, redeemed, time } = await start(t)
  const [{ state }, other] = [await begin(), await begin()]
  const statusAt = async (path: string, sealed: string) =>
    (await sendRequest({ host: IDP, path: `${path}?code=c&state=${sealed}` })).status

  assert.equal(await statusAt('/oidc/callback/login.example', state), 403)
  assert.equal(await statusAt('/oauth2/github/callback', other.state), 403)
  assert.deepEqual(redeemed, [])
  const back = `https://${HOST}/page?x=1`
  const locationOf = async (used: string) => (await redeem(used)).headers.location
  // The state was consumed by the invalid response: there is no second attempt.
  assert.equal(await locationOf(state), back)

  const again = await begin()
  const expired = await begin()
  assert.match(String(await locationOf(again.state)), /ticket=/)
  assert.equal(await locationOf(again.state), back)
  time.now += 600_001
  assert.equal(await locationOf(expired.state), back)
  assert.deepEqual(redeemed, ['c'])
})

test('responses with duplicate parameters, without a state or with another method are rejected', async (t) => {
  const { begin, redeem, sendRequest, redeemed } = await start(t)
  const { state } = await begin()
  const other = await begin()

  for (const query of [
    'code=a&code=b',
    `code=a&state=${other.state}`,
    'code=a&iss=x&iss=y',
    'code=a&x=1&x=1',
  ])
    assert.equal((await redeem(state, query)).status, 403, query)
  for (const path of ['/oauth2/callback', '/oauth2/callback?code=a', '/oauth2/callback?code=a&state=x'])
    assert.equal((await sendRequest({ host: IDP, path })).status, 403, path)
  const path = `/oauth2/callback?code=a&state=${state}`
  for (const method of ['POST', 'HEAD', 'PUT'])
    assert.equal((await sendRequest({ host: IDP, path, method })).status, 405, method)
  for (const unknownPath of ['//', '/\\', '//[', '/oauth2', '/saml/x', '/%'])
    assert.equal((await sendRequest({ host: IDP, path: unknownPath })).status, 404, unknownPath)
  assert.deepEqual(redeemed, [])
  assert.equal((await redeem(state)).status, 303, 'none of it has used the state up')
})

test('a provider error is never echoed to the visitor', async (t) => {
  const { begin, sendRequest } = await start(t)
  const hostile = encodeURIComponent('<script>alert(1)</script>\r\nSet-Cookie: a=b')

  for (const name of ['error', 'error_description', 'error_uri', 'code', 'scope']) {
    const { state } = await begin()
    const parameters = new URLSearchParams({ error: 'server_error', state }).toString()
    const { status, text, headers } = await sendRequest({
      host: IDP,
      path: `/oauth2/callback?${name === 'error' ? `state=${state}` : parameters}&${name}=${hostile}`,
      headers: { accept: 'text/html' },
    })
    assert.equal(status, name === 'error' ? 500 : 502, name)
    assert.ok(!text.includes('alert') && !text.includes('server_error'), text)
    assert.deepEqual(setCookies(headers), [])
  }
})

test('a sign-in does not start on a port the edge does not serve', async (t) => {
  const { sendRequest, tlsPort, ca, port } = await start(t)
  const statusAt = async (host: string) => (await sendHttps(tlsPort, ca, { host, servername: HOST })).status

  assert.equal(await statusAt(`${HOST}:21000`), 403)
  assert.equal(await statusAt(`${HOST}:${port}`), 403, 'the one for plain HTTP')
  assert.equal(await statusAt(`${HOST}:${tlsPort}`), 302)
  assert.equal((await sendRequest()).status, 302)
})

test('a browser has at most eight pending sign-ins, and a ninth drops the oldest', async (t) => {
  const { sendRequest } = await start(t)
  const jar = new Map<string, string>()
  for (let tab = 0; tab < 20; tab++) {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const { headers } = await sendRequest({ headers: { cookie } })
    for (const line of setCookies(headers)) {
      const [name = '', value = ''] = line.split(';', 1)[0]!.split('=')
      if (!name.startsWith('__Host-')) continue
      if (line.includes('Max-Age=0')) jar.delete(name)
      else jar.set(name, value)
    }
  }
  assert.equal(jar.size, 8)
})
