import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { inflateRawSync } from 'node:zlib'
import type { ForgedResponse } from '../../../../test/login/saml-forge.ts'
import { Secret } from '../../../base/values/secret.ts'
import { type LoginOptions, LoginService } from '../../login/index.ts'
import { HOST, startHttpsEdge } from '../https-edge.ts'
import { IDP, setCookies } from './login-page.ts'
import { forgetfulLoginStore } from './login-store.ts'
import { createSamlProvider } from './saml-provider.ts'

const FETCHES_NOTHING = { fetch: () => Promise.reject(new Error('nothing is fetched')) }

/** A route protected by SAML, and a manual clock. */
export async function startSamlPage(
  t: TestContext,
  {
    settings = {},
    outbound = FETCHES_NOTHING,
  }: { settings?: Record<string, unknown>; outbound?: LoginOptions['outbound'] } = {},
) {
  // The library always uses the system clock, from which only the monotonic one may differ by much.
  const time = { now: Date.now(), elapsed: 0 }
  const provider = await createSamlProvider()
  const used = new Set<string>()
  const logins = new LoginService({
    outbound,
    clock: { now: () => time.now, monotonic: () => time.now + time.elapsed },
    key: new Secret(randomBytes(32)),
    idpUrl: () => `https://${IDP}`,
    store: { ...forgetfulLoginStore, consume: async (id) => used.size < used.add(id).size },
  })
  t.after(() => logins.close())
  const harness = await startHttpsEdge(t, undefined, { dependencies: { logins, loginHost: IDP } })
  const { config, routeId, sendRequest } = harness

  const protect = (id: string, changed?: Record<string, unknown>) => provider.protect(config, id, changed)
  protect(routeId, settings)
  await config.waitUntilApplied()

  /** Requests a page and is redirected to the provider. */
  async function begin(host = HOST) {
    const { status, headers } = await sendRequest({ host, path: '/page' })
    assert.equal(status, 302)
    const query = new URL(String(headers.location)).searchParams
    const xml = inflateRawSync(Buffer.from(query.get('SAMLRequest') ?? '', 'base64')).toString()
    return {
      relayState: query.get('RelayState') ?? '',
      requestId: / ID="([^"]+)"/.exec(xml)?.[1] ?? '',
      cookies: setCookies(headers).map((line) => line.split(';', 1)[0]!),
    }
  }

  /** Posts a response to the login host; returns the ticket URL, or a status. */
  async function post(
    relayState: string,
    response: Partial<ForgedResponse>,
    id = routeId,
  ): Promise<string | number> {
    const { status, headers } = await sendRequest({
      host: IDP,
      path: `/saml/${id}/acs`,
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: provider.formFor(`https://${IDP}/saml/${id}`, relayState, response),
    })
    return status === 303 ? String(headers.location) : status
  }

  async function redeemTicket(ticket: string | number, cookies: readonly string[]) {
    const url = new URL(String(ticket))
    const path = `${url.pathname}${url.search}`
    const headers = { cookie: cookies.join('; ') }
    const response = await sendRequest({ host: url.hostname, path, headers })
    if (setCookies(response.headers).length > 0) return 'a session'
    return response.status === 303 ? String(response.headers.location) : response.status
  }

  return { ...harness, time, provider, protect, begin, post, redeemTicket }
}
