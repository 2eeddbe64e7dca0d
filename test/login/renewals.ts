import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { pino } from 'pino'
import { fetch as fetchPlain, Response } from 'undici'
import { createOutbound } from '../../src/base/outbound/outbound.ts'
import { Secret } from '../../src/base/values/secret.ts'
import { LoginService, type LoginStore } from '../../src/edge/login/index.ts'
import { forgetfulLoginStore } from '../../src/edge/testing/login/login-store.ts'
import { POLICY_HOST, startPolicyEndpoint } from '../../src/edge/testing/policy-endpoint.ts'
import { CookieClient } from '../support/browser-client.ts'
import { sendHttps } from '../support/https-client.ts'
import type { TestPlatform } from '../support/platform.ts'
import { CLIENT_SECRET, signIn, startProvider } from './openid-provider.ts'

const IDP = 'idp.adit.localhost'
const PAGE = `https://${POLICY_HOST}/`
export const HOUR = 3_600_000

/** A login store that several processes share. */
function createSharedStore() {
  const used = new Set<string>()
  const revoked: string[] = []
  const outage = { isDown: false }
  const store: LoginStore = {
    ...forgetfulLoginStore,
    async consume(id) {
      if (outage.isDown) throw new Error('the database is down')
      return !used.has(id) && used.add(id) !== undefined
    },
    async revoke({ subject }) {
      if (outage.isDown) throw new Error('the database is down')
      revoked.push(subject)
    },
  }
  return { store, revoked, outage }
}

/**
 * An endpoint whose policy shows the tokens of a visitor, a provider that rotates refresh tokens, and a clock that can be
 * moved. Access tokens are valid for an hour, ID tokens for half of it. Several processes serve the endpoint.
 */
export async function startRenewals(
  t: TestContext,
  {
    config = {},
    show = 'access_token',
    processes = 1,
    provider = {},
    ...loginOptions
  }: { config?: object; show?: string; processes?: number; provider?: object; renewalWaitMs?: number } = {},
) {
  /** What the provider says about the visitor. */
  const account: Record<string, unknown> = { name: 'Ada', email: 'ada@example.com', email_verified: true }
  const observed = { renewals: 0, checks: 0, idTokens: 0, logged: [] as string[] }
  // Never the same, so that two ID tokens of one second differ.
  const idTokenSeconds = () => 1800 + observed.idTokens++
  /** Respond in place of the provider. */
  const control: { [E in 'token' | 'userinfo']: ((response: ServerResponse) => void) | undefined } = {
    token: undefined,
    userinfo: undefined,
  }
  const { issuer } = await startProvider(t, `https://${IDP}/oauth2/callback`, {
    configuration: {
      rotateRefreshToken: true,
      findAccount: (_context: unknown, id: string) => ({
        accountId: id,
        claims: async () => ({ sub: id, ...account }),
      }),
      ttl: { AccessToken: 3600, IdToken: idTokenSeconds },
      ...provider,
    },
    intercept(request, response) {
      const respond =
        request.url === '/token' ? control.token : request.url === '/me' ? control.userinfo : undefined
      if (request.url === '/token') observed.renewals++
      if (request.url === '/me') observed.checks++
      respond?.(response)
      return respond !== undefined
    },
  })
  const time = { offset: 0 }
  const clock = { now: () => Date.now() + time.offset, monotonic: () => performance.now() + time.offset }
  const key = new Secret(randomBytes(32))
  const { store, revoked, outage } = createSharedStore()
  const outbound = createOutbound({ allow: ['127.0.0.1'], totalTimeoutMs: 5000 })
  t.after(() => outbound.close())
  const log = pino({}, { write: (line: string) => void observed.logged.push(JSON.parse(line).msg) })
  const signInConfig = {
    issuer_url: issuer,
    client_id: 'app',
    client_secret: CLIENT_SECRET,
    scopes: ['openid', 'email', 'offline_access'],
    authz_url_params: { prompt: 'consent' },
    ...config,
  }
  const text = { 'content-type': 'text/plain' }
  const body = `\${actions.ngrok.oidc.${show}}`
  const policy = JSON.stringify({
    on_http_request: [
      { actions: [{ type: 'openid-connect', config: signInConfig }] },
      { actions: [{ type: 'custom-response', config: { headers: text, body } }] },
    ],
  })

  async function startProcess() {
    const logins = new LoginService({
      ...{ outbound, clock, log, key, store },
      idpUrl: () => `https://${IDP}`,
      ...loginOptions,
    })
    t.after(() => logins.close())
    const dependencies = { clock, logins, loginHost: IDP }
    const { tlsPort, ca } = await startPolicyEndpoint(t, policy, { dependencies })
    const fetch: TestPlatform['fetch'] = async (url, init = {}) => {
      const { hostname, host, pathname, search } = new URL(url)
      if (!hostname.endsWith('.adit.localhost')) return fetchPlain(url, init)
      const { method = 'GET' } = init
      const headers = init.headers as Record<string, string>
      const reply = await sendHttps(tlsPort, ca, { host, path: `${pathname}${search}`, method, headers })
      const fields = Object.entries(reply.headers).flatMap(([name, values]) =>
        [values ?? []].flat().map((value): [string, string] => [name, value]),
      )
      return new Response(reply.text, { status: reply.status, headers: fields })
    }
    return fetch
  }
  const fetches = await Promise.all(Array.from({ length: processes }, startProcess))
  let process = 0
  const browser = new CookieClient({ fetch: (url, init) => fetches[process]!(url, init) })

  /** Sends a request with the cookies of the browser, which gets those of the response. */
  async function visit(method = 'GET') {
    const response = await browser.once(PAGE, { method })
    return { status: response.status, text: await response.text(), cookies: response.headers.getSetCookie() }
  }

  return {
    browser,
    visit,
    time,
    observed,
    control,
    account,
    issuer,
    revoked,
    outage,
    /** Signs the visitor in and returns what the policy shows. */
    async signIn() {
      const { text } = await signIn(browser, PAGE)
      Object.assign(observed, { renewals: 0, checks: 0 })
      return text
    },
    /** Gives the browser cookies that it had before. */
    restore(cookies: readonly string[]) {
      for (const cookie of cookies) {
        const [name = '', value = ''] = cookie.split('=')
        browser.setCookie(POLICY_HOST, name, value)
      }
    },
    /** Sends the next requests to this process. */
    use: (index: number) => {
      process = index
    },
  }
}
