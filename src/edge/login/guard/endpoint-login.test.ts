import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { sendHttp, sendHttps } from '../../../../test/support/https-client.ts'
import { startHttp } from '../../../../test/support/local-server.ts'
import { systemClock } from '../../../base/values/clock.ts'
import { Secret } from '../../../base/values/secret.ts'
import { EndpointConfiguration, ReservedDomain } from '../../../resources/index.ts'
import { createTestCertificates } from '../../testing/certificates.ts'
import { TestConfiguration } from '../../testing/configuration.ts'
import { startEdge } from '../../testing/edge.ts'
import { echo } from '../../testing/https-edge.ts'
import { forgetfulLoginStore } from '../../testing/login/login-store.ts'
import { createLocalTunnel, TestTunnels } from '../../testing/tunnels.ts'
import { LoginService } from '../index.ts'

const HOST = 'app.adit.localhost'
const IDP = 'idp.adit.localhost'
const google = {
  provider: 'google',
  clientId: 'app',
  clientSecret: 'secret',
  allowEmails: [],
  allowDomains: [],
  allowGroups: [],
  allowClaims: [],
  scopes: [],
}

interface ConnectOptions {
  accountId?: string
  host?: string
  oauth?: Partial<typeof google> | null
  trafficPolicy?: string
  proto?: 'http' | 'https'
  /** The modules of the endpoint configuration of the domain. */
  configuration?: object
}

/** An agent's endpoint behind a Google sign-in, with a signed-in visitor. */
async function start(t: TestContext, first: ConnectOptions = {}) {
  const upstream = await startHttp(t, echo)
  const tunnels = new TestTunnels()
  const logins = new LoginService({
    outbound: {
      fetch: async (url) =>
        String(url).includes('token')
          ? Response.json({ access_token: 'x', token_type: 'Bearer' })
          : Response.json({ sub: '42', email: 'ada@example.com', email_verified: true }),
    },
    clock: systemClock,
    key: new Secret(randomBytes(32)),
    idpUrl: () => 'https://idp.adit.localhost',
    store: forgetfulLoginStore,
  })
  const { ca, lookup } = await createTestCertificates('adit.localhost')
  const { edge, tlsPort, port } = await startEdge(
    t,
    tunnels,
    {},
    { certificates: lookup, logins, loginHost: IDP },
  )
  const config = new TestConfiguration(edge, 'ac_one')
  const ask = (path: string, cookies: readonly string[] = [], host = HOST) =>
    sendHttps(tlsPort, ca, { host, path, headers: { cookie: cookies.join('; ') } })
  const cookiesOf = (lines: string | string[] | undefined) =>
    [lines ?? []].flat().map((line) => line.split(';', 1)[0]!)

  /** Connects an agent: a new tunnel that replaces the previous one. */
  function connect(overrides: ConnectOptions = {}) {
    const { accountId = 'ac_one', host = HOST, oauth = {}, proto = 'https' } = overrides
    const { trafficPolicy } = overrides
    const login = oauth === null ? {} : { oauth: { ...google, ...oauth } }
    const options = trafficPolicy === undefined ? login : { trafficPolicy }
    tunnels.add(host, createLocalTunnel(upstream, { proto, accountId, hostport: `${host}:443`, options }))
  }

  const disconnect = () => tunnels.hosts.delete(`https ${HOST}`)

  /** Starts a sign-in; returns what the provider would send back. */
  async function begin(host = HOST) {
    const { headers } = await ask('/', [], host)
    const { searchParams } = new URL(String(headers.location))
    return { state: searchParams.get('state') ?? '', cookies: cookiesOf(headers['set-cookie']) }
  }

  const redeem = (state: string) => ask(`/oauth2/callback?code=c&state=${state}`, [], IDP)

  const configurationId =
    first.configuration && config.create(EndpointConfiguration, { type: 'https', ...first.configuration })
  config.create(ReservedDomain, { domain: HOST, https_endpoint_configuration_id: configurationId })
  await edge.scopes.flush()
  connect(first)
  const { state, cookies: pendingCookies } = await begin()
  const redeemed = await redeem(state)
  assert.equal(redeemed.status, 303, redeemed.text)
  const completed = await ask(
    String(redeemed.headers.location).slice(`https://${HOST}`.length),
    pendingCookies,
  )
  assert.equal(completed.status, 303, completed.text)
  const cookies = cookiesOf(completed.headers['set-cookie'])
  const visit = async (host = HOST) => (await ask('/', cookies, host)).status
  const read = (path: string) => ask(path, cookies)

  /** Changes modules of the endpoint configuration. */
  async function configure(modules: object) {
    config.update(configurationId!, { ...modules })
    await edge.scopes.flush()
  }
  return { port, read, connect, disconnect, configure, begin, redeem, ask, visit }
}

test('a session survives the tunnel: visitors stay signed in when the agent reconnects', async (t) => {
  const { connect, visit } = await start(t)
  assert.equal(await visit(), 200)

  connect()

  assert.equal(await visit(), 200)
})

const signInPolicy = (body: string) =>
  JSON.stringify({
    on_http_request: [
      {
        actions: [
          { type: 'oauth', config: { provider: 'google', client_id: 'app', client_secret: 'secret' } },
        ],
      },
      {
        expressions: ["actions.ngrok.oauth.identity.email.endsWith('@example.com')"],
        actions: [{ type: 'custom-response', config: { body } }],
      },
      { actions: [{ type: 'deny' }] },
    ],
  })

test('a policy signs visitors in and knows who they are, and its other rules may change meanwhile', async (t) => {
  const { connect, read, visit } = await start(t, {
    trafficPolicy: signInPolicy(`hello $${'{'}actions.ngrok.oauth.identity.email}`),
  })

  const greeting = await read('/')
  connect({ trafficPolicy: signInPolicy('changed') })
  const changed = await read('/')
  connect({ trafficPolicy: signInPolicy('x').replace('"app"', '"another"') })

  assert.deepEqual([greeting.text, changed.text], ['hello ada@example.com', 'changed'])
  assert.equal(await visit(), 302, 'another application')
})

test('an endpoint configuration signs visitors in, and its other modules may change meanwhile', async (t) => {
  const login = (client_id: string) => ({ provider: { google: { client_id, client_secret: 'secret' } } })
  const { connect, configure, read, visit } = await start(t, {
    oauth: null,
    configuration: { oauth: login('app') },
  })
  const statuses = [await visit()]

  connect({ oauth: null })
  statuses.push(await visit())
  await configure({ response_headers: { add: { 'x-from': 'configuration' } } })
  const { status, headers } = await read('/')
  await configure({ oauth: login('another') })

  assert.deepEqual([...statuses, status, headers['x-from']], [200, 200, 200, 'configuration'])
  assert.equal(await visit(), 302, 'another application')
})

test('a session is valid for no other account, address or login settings', async (t) => {
  const { connect, visit } = await start(t)
  connect({ host: 'other.adit.localhost' })
  assert.equal(await visit('other.adit.localhost'), 302, 'another address')

  connect({ accountId: 'ac_two' })
  assert.equal(await visit(), 302, 'another account that got the name')
  connect({ oauth: { allowEmails: ['bob@example.com'] as never[] } })
  assert.equal(await visit(), 302, 'others are let in')
  connect({ oauth: { clientId: 'another' } })
  assert.equal(await visit(), 302, 'another application')
  connect()
  assert.equal(await visit(), 200)
})

const changes: Record<string, ConnectOptions | undefined> = {
  'the agent is gone': undefined,
  'another account has the name': { accountId: 'ac_two' },
  'the agent requires no sign-in': { oauth: null },
  'the agent has another application': { oauth: { clientId: 'another' } },
  'others are let in': { oauth: { allowEmails: ['bob@example.com'] as never[] } },
}

for (const [name, change] of Object.entries(changes))
  test(`states and tickets of an endpoint are invalid once ${name}`, async (t) => {
    const { connect, disconnect, begin, redeem, ask } = await start(t)
    const [first, second] = [await begin(), await begin()]
    const ticket = String((await redeem(first.state)).headers.location).slice(`https://${HOST}`.length)

    disconnect()
    if (change !== undefined) connect(change)

    assert.equal((await redeem(second.state)).status, 403)
    const { status, headers } = await ask(ticket, first.cookies)
    assert.notEqual(status, 303)
    assert.equal(headers['set-cookie'], undefined)
    disconnect()
    connect()
    assert.equal((await redeem((await begin()).state)).status, 303, 'a new one does')
  })

test('a state and a ticket survive a reconnect of the agent', async (t) => {
  const { connect, disconnect, begin, redeem, ask } = await start(t)
  const { state, cookies } = await begin()
  disconnect()
  connect()

  const ticket = String((await redeem(state)).headers.location).slice(`https://${HOST}`.length)
  disconnect()
  connect()

  assert.equal((await ask(ticket, cookies)).status, 303)
})

test('plain HTTP sign-in works on the edge port only', async (t) => {
  const { port, connect } = await start(t)
  connect({ proto: 'http', host: 'plain.adit.localhost' })
  const statusAt = async (host: string) => (await sendHttp(port, { host })).status

  assert.equal(await statusAt('plain.adit.localhost'), 302)
  assert.equal(await statusAt(`plain.adit.localhost:${port}`), 302)
  assert.equal(await statusAt('plain.adit.localhost:21000'), 403)
})
