import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { createOutbound } from '../../../base/outbound/outbound.ts'
import { systemClock } from '../../../base/values/clock.ts'
import { Secret } from '../../../base/values/secret.ts'
import { echo, HOST, startHttpsEdge } from '../../testing/https-edge.ts'
import { forgetfulLoginStore } from '../../testing/login/login-store.ts'
import { faults, startOpenidProvider } from '../../testing/login/openid-provider.ts'
import { LoginService } from '../index.ts'

const IDP = 'idp.adit.localhost'

/** A page behind a configurable provider, with a provider timeout shorter than that of the guarded client. */
async function start(t: TestContext) {
  const { issuer, behaviour, observed } = await startOpenidProvider(t)
  const outbound = createOutbound({ allow: ['127.0.0.1'], totalTimeoutMs: 60_000 })
  t.after(() => outbound.close())
  const logins = new LoginService({
    outbound,
    clock: systemClock,
    key: new Secret(randomBytes(32)),
    idpUrl: () => `https://${IDP}`,
    store: forgetfulLoginStore,
    providerTimeoutMs: 1000,
  })
  const { config, routeId, sendRequest } = await startHttpsEdge(t, echo, {
    dependencies: { logins, loginHost: IDP },
  })
  config.update(routeId, { oidc: { issuer, client_id: 'app', client_secret: 'app-secret' } })
  await config.waitUntilApplied()
  const open = (host: string, path: string, cookie = '') =>
    sendRequest({ host, path, headers: { accept: 'text/html', cookie } })

  async function begin() {
    const { status, headers } = await open(HOST, '/')
    assert.equal(status, 302)
    const { searchParams } = new URL(String(headers.location))
    observed.nonce = searchParams.get('nonce') ?? ''
    const { pathname } = new URL(searchParams.get('redirect_uri') ?? '')
    const cookie = [headers['set-cookie'] ?? []].flat().map((line) => line.split(';', 1)[0])
    const callback = `${pathname}?${new URLSearchParams({ code: 'c', state: searchParams.get('state') ?? '' })}`
    return { callback, cookie: cookie.join('; ') }
  }

  return { behaviour, open, begin }
}

for (const part of ['describe', 'publish', 'token'] as const)
  test(`a visitor sees an error when the provider does not respond (${part})`, async (t) => {
    const { behaviour, open, begin } = await start(t)
    const callback = part === 'describe' ? undefined : (await begin()).callback
    Object.assign(behaviour, { [part]: faults.hangs })

    const { status, text, headers } =
      callback === undefined ? await open(HOST, '/') : await open(IDP, callback)

    assert.deepEqual([status, headers['adit-error-code']], [502, 'ERR_ADIT_3216'])
    assert.match(text, /The identity provider of this page cannot be reached.*Try again/)
  })

test('an invalid provider response is distinguished from an unavailable provider', async (t) => {
  const { behaviour, open, begin } = await start(t)
  const { callback } = await begin()
  Object.assign(behaviour, { header: { alg: 'none' } })
  const rejected = await open(IDP, callback)

  assert.deepEqual([rejected.status, rejected.headers['adit-error-code']], [403, 'ERR_ADIT_3222'])
  assert.match(rejected.text, /not completed: the response from the identity provider was not valid/)
})

test('many groups and large claims still make a session cookie that browsers accept', async (t) => {
  const { behaviour, open, begin } = await start(t)
  const groups = Array.from({ length: 30_000 }, (_, index) => `group-${index}`)
  behaviour.claims = (claims) => ({ ...claims, groups, text: 'x'.repeat(100_000) })
  const { callback, cookie } = await begin()

  const redeemed = await open(IDP, callback)
  const completed = await open(
    HOST,
    String(redeemed.headers.location).slice(`https://${HOST}`.length),
    cookie,
  )

  assert.deepEqual([redeemed.status, completed.status], [303, 303])
  for (const line of [completed.headers['set-cookie'] ?? []].flat()) assert.ok(line.length < 4096)
})
