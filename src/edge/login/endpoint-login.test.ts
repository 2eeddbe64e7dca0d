import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../base/clock.ts'
import { Secret } from '../../base/secret.ts'
import { testCertificates } from '../testing/certificates.ts'
import { askSecurely } from '../testing/client.ts'
import { startEdge, startUpstream } from '../testing/edge.ts'
import { echo } from '../testing/https-edge.ts'
import { localTunnel, TestTunnels } from '../testing/tunnels.ts'
import { createLogins } from './index.ts'

const HOST = 'app.adit.localhost'
const IDP = 'idp.adit.localhost'
const google = {
  provider: 'google',
  clientId: 'app',
  clientSecret: 'secret',
  allowEmails: [],
  allowDomains: [],
  scopes: [],
}

/** An agent's endpoint behind a Google sign-in, with a visitor who has signed in. */
async function start(t: TestContext) {
  const upstream = await startUpstream(t, echo)
  const tunnels = new TestTunnels()
  const logins = createLogins({
    outbound: {
      fetch: async (url) =>
        String(url).includes('token')
          ? Response.json({ access_token: 'x', token_type: 'Bearer' })
          : Response.json({ sub: '42', email: 'ada@example.com', email_verified: true }),
    },
    clock: systemClock,
    key: new Secret(randomBytes(32)),
    idpUrl: () => 'https://idp.adit.localhost',
    ledger: { use: async () => true, end: async () => {} },
  })
  const { ca, lookup } = await testCertificates('adit.localhost')
  const loginHost = { name: IDP, entry: logins.host }
  const { tlsPort } = await startEdge(t, tunnels, {}, { certificates: lookup, logins, loginHost })
  const ask = (path: string, cookies: readonly string[] = [], host = HOST) =>
    askSecurely(tlsPort, ca, { host, path, headers: { cookie: cookies.join('; ') } })
  const cookiesOf = (lines: string | string[] | undefined) =>
    [lines ?? []].flat().map((line) => line.split(';', 1)[0]!)

  /** An agent connects: a tunnel of its own, whatever was there before. */
  function connect(given: { accountId?: string; host?: string; oauth?: Partial<typeof google> } = {}) {
    const { accountId = 'ac_one', host = HOST, oauth = {} } = given
    const options = { oauth: { ...google, ...oauth } }
    tunnels.add(host, localTunnel(upstream, { proto: 'https', accountId, hostport: `${host}:443`, options }))
  }

  /** Signs in as far as the provider, and gives what it sends the browser back with. */
  async function begin(host = HOST) {
    const { headers } = await ask('/', [], host)
    const { searchParams } = new URL(String(headers.location))
    return { state: searchParams.get('state') ?? '', cookies: cookiesOf(headers['set-cookie']) }
  }

  const redeem = (state: string) => ask(`/oauth2/callback?code=c&state=${state}`, [], IDP)

  connect()
  const { state, cookies: begun } = await begin()
  const redeemed = await redeem(state)
  assert.equal(redeemed.status, 303, redeemed.text)
  const done = await ask(String(redeemed.headers.location).slice(`https://${HOST}`.length), begun)
  assert.equal(done.status, 303, done.text)
  const cookies = cookiesOf(done.headers['set-cookie'])
  const visit = async (host = HOST) => (await ask('/', cookies, host)).status
  return { tunnels, connect, begin, redeem, ask, visit }
}

test('a session outlives the tunnel: an agent that comes back finds its visitors signed in', async (t) => {
  const { connect, visit } = await start(t)
  assert.equal(await visit(), 200)

  connect()

  assert.equal(await visit(), 200)
})

test('a session counts for nobody else, nowhere else and under no other terms', async (t) => {
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
