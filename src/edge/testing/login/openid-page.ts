import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import type { TestResponse } from '../../../../test/support/https-client.ts'
import { startHttp } from '../../../../test/support/local-server.ts'
import { Secret } from '../../../base/values/secret.ts'
import { endpointOptions } from '../../../resources/endpoint-options.ts'
import { LoginService } from '../../login/index.ts'
import { echo, HOST, startHttpsEdge } from '../https-edge.ts'
import { createLocalTunnel } from '../tunnels.ts'
import { IDP } from './login-page.ts'
import { forgetfulLoginStore } from './login-store.ts'
import { startOpenidProvider } from './openid-provider.ts'

/** The host of an agent's endpoint with `--oidc`. */
export const AGENT_HOST = 'agent.adit.localhost'

const cookiesOf = ({ headers }: TestResponse) =>
  [headers['set-cookie'] ?? []]
    .flat()
    .filter((line) => !line.includes('Max-Age=0'))
    .map((line) => line.split(';', 1)[0]!)

/** A route with the module `oidc` and an agent's endpoint with the option, at one provider. The clock can be moved. */
export async function startOpenidPages(
  t: TestContext,
  {
    settings = {},
    option = {},
    store = forgetfulLoginStore,
    callbackLimit = 0,
  }: {
    settings?: object
    option?: object
    store?: typeof forgetfulLoginStore
    callbackLimit?: number
  } = {},
) {
  const provider = await startOpenidProvider(t)
  const { issuer, observed, outbound } = provider
  const time = { offset: 0 }
  const clock = { now: () => Date.now() + time.offset, monotonic: () => performance.now() + time.offset }
  const logins = new LoginService({
    outbound,
    clock,
    key: new Secret(randomBytes(32)),
    idpUrl: () => `https://${IDP}`,
    store,
    callbackLimit,
  })
  t.after(() => logins.close())
  const edge = await startHttpsEdge(t, echo, {
    config: { tickMs: 20 },
    dependencies: { clock, logins, loginHost: IDP },
  })
  const client = { client_id: 'app', client_secret: 'app-secret' }
  edge.config.update(edge.routeId, { oidc: { issuer, ...client, ...settings } })
  await edge.config.waitUntilApplied()
  const oidc = endpointOptions.oidc.decode({ issuer_url: issuer, ...client, ...option })
  const upstream = await startHttp(t, echo)
  edge.tunnels.add(
    AGENT_HOST,
    createLocalTunnel(upstream, { proto: 'https', hostport: `${AGENT_HOST}:443`, options: { oidc } }),
  )

  const visit = (cookies: readonly string[], { host = HOST, path = '/' } = {}) =>
    edge.sendRequest({ host, path, headers: { cookie: cookies.join('; ') } })

  let codes = 0

  /** Signs Ada in; returns her cookies. */
  async function signIn(host = HOST, page = '/'): Promise<string[]> {
    const begun = await visit([], { host, path: page })
    const { searchParams } = new URL(String(begun.headers.location))
    observed.nonce = searchParams.get('nonce') ?? ''
    const callback = new URL(searchParams.get('redirect_uri')!).pathname
    const state = encodeURIComponent(searchParams.get('state')!)
    const redeemed = await edge.sendRequest({
      host: IDP,
      path: `${callback}?code=c${++codes}&state=${state}`,
    })
    const path = String(redeemed.headers.location).slice(`https://${host}`.length)
    return cookiesOf(await visit(cookiesOf(begun), { host, path }))
  }

  return { ...edge, ...provider, provider, logins, time, visit, signIn }
}
