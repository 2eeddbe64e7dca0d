import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import type { TestResponse } from '../../../../test/support/https-client.ts'
import type { OutboundRequest } from '../../../base/outbound/outbound.ts'
import { Secret } from '../../../base/values/secret.ts'
import type { SessionActivity, StartedSession } from '../../../resources/index.ts'
import { LoginService, type LoginStore, type Revocation } from '../../login/index.ts'
import { echo, HOST, startHttpsEdge } from '../https-edge.ts'

export const IDP = 'idp.adit.localhost'
const TOKEN = 'https://oauth2.googleapis.com/token'

export function setCookies(headers: TestResponse['headers']): string[] {
  return [headers['set-cookie'] ?? []].flat()
}

/** An edge behind a Google sign-in, with a manual clock. */
export async function startLoginPage(
  t: TestContext,
  login: Record<string, unknown> = {},
  profile: Record<string, unknown> = {},
) {
  const time = { now: 1_700_000_000_000 }
  const clock = { now: () => time.now, monotonic: () => time.now }
  /** What the provider gives for a code or a refresh token. */
  const grant: Record<string, unknown> = {
    access_token: 'x',
    token_type: 'Bearer',
    id_token: 'not.ours.toread',
  }
  /** The codes redeemed at the provider. */
  const redeemed: string[] = []
  const outbound = {
    async fetch(url: string | URL, init: OutboundRequest = {}) {
      if (String(url) === TOKEN) {
        redeemed.push(new URLSearchParams(String(init.body)).get('code') ?? '')
        return Response.json(grant)
      }
      return Response.json({
        sub: '42',
        name: 'Ada',
        email: 'ada@example.com',
        email_verified: true,
        ...profile,
      })
    },
  }
  const shared = {
    used: new Set<string>(),
    ended: [] as Revocation[],
    sessions: [] as StartedSession[],
    activity: [] as SessionActivity[],
    down: false,
  }
  const store: LoginStore = {
    async consume(id) {
      if (shared.down) throw new Error('down')
      if (shared.used.has(id)) return false
      shared.used.add(id)
      return true
    },
    async revoke(revocation) {
      if (shared.down) throw new Error('down')
      shared.ended.push(revocation)
    },
    recordSession: (session) => shared.sessions.push(session),
    recordActivity: (activity) => shared.activity.push(activity),
  }
  const logins = new LoginService({
    outbound,
    clock,
    key: new Secret(randomBytes(32)),
    idpUrl: () => 'https://idp.adit.localhost',
    store,
  })
  const harness = await startHttpsEdge(t, echo, {
    config: { tickMs: 20 },
    dependencies: { logins, loginHost: IDP },
  })
  const { config, routeId, sendRequest } = harness
  const provider = { google: { client_id: 'app', client_secret: 'secret', scopes: [] } }
  const oauth = { provider, ...login }
  config.update(routeId, { oauth })
  await config.waitUntilApplied()

  const cookiesOf = (lines: readonly string[]) =>
    lines.filter((line) => !line.includes('Max-Age=0')).map((line) => line.split(';', 1)[0]!)

  /** Starts a sign-in; returns what the provider would send back. */
  async function begin(path = '/page?x=1') {
    const { status, headers } = await sendRequest({ path })
    assert.equal(status, 302)
    const state = new URL(String(headers.location)).searchParams.get('state') ?? ''
    return { state, cookies: cookiesOf(setCookies(headers)), lines: setCookies(headers) }
  }

  /**
   * Sends a provider response to the login host; returns its response, with the ticket as a path of the page's host.
   */
  async function redeem(state: string, query = 'code=c') {
    const reply = await sendRequest({ host: IDP, path: `/oauth2/callback?${query}&state=${state}` })
    const url = reply.status === 303 ? new URL(String(reply.headers.location)) : undefined
    if (url !== undefined) assert.equal(url.origin, `https://${HOST}`)
    return { ...reply, ticket: url === undefined ? '' : `${url.pathname}${url.search}` }
  }

  async function finish(state: string, cookies: readonly string[]) {
    const reply = await redeem(state)
    return reply.ticket === ''
      ? reply
      : sendRequest({ path: reply.ticket, headers: { cookie: cookies.join('; ') } })
  }

  async function signIn() {
    const { state, cookies } = await begin()
    const { status, headers, text } = await finish(state, cookies)
    assert.equal(status, 303, text)
    const lines = setCookies(headers)
    return { cookies: cookiesOf(lines), lines, location: String(headers.location) }
  }

  const visit = (cookies: readonly string[], request: Parameters<typeof sendRequest>[0] = {}) =>
    sendRequest({ ...request, headers: { cookie: cookies.join('; '), ...request?.headers } })

  return {
    ...harness,
    logins,
    shared,
    time,
    grant,
    redeemed,
    oauth,
    begin,
    redeem,
    finish,
    signIn,
    visit,
    cookiesOf,
  }
}
