import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { HttpsEdge, HttpsRoute } from '../../../resources/index.ts'
import { HOST } from '../../testing/https-edge.ts'
import { IDP } from '../../testing/login/login-page.ts'
import { startSamlPage } from '../../testing/login/saml-page.ts'

const OTHER = 'other.adit.localhost'

/** Two routes protected by SAML with the same provider, and a manual clock. */
async function start(t: TestContext) {
  const page = await startSamlPage(t)
  const { config, backendId, protect, provider } = page
  const edge_id = config.create(HttpsEdge, { hostports: [`${OTHER}:443`] })
  const backend = { backend_id: backendId }
  const otherId = config.create(HttpsRoute, { edge_id, match_type: 'path_prefix', match: '/', backend })
  protect(otherId)
  await config.waitUntilApplied()
  return { ...page, otherId, metadata: provider.metadata }
}

test('a sign-in completes once, at its own route and in its own browser', async (t) => {
  const { begin, post, redeemTicket } = await start(t)
  const { relayState, requestId, cookies } = await begin()

  const ticket = await post(relayState, { requestId })

  assert.match(String(ticket), new RegExp(`^https://${HOST}/auth/callback\\?ticket=`))
  assert.equal(await redeemTicket(ticket, cookies), 'a session')
  assert.equal(await redeemTicket(ticket, cookies), `https://${HOST}/page`, 'the same ticket')
  const second = await post(relayState, { requestId })
  assert.equal(
    await redeemTicket(second, cookies),
    `https://${HOST}/page`,
    'another response to the same request',
  )
})

test('a sign-in started at another route completes at neither', async (t) => {
  const { begin, post, routeId, otherId } = await start(t)
  const own = await begin()
  const other = await begin(OTHER)

  assert.equal(await post(other.relayState, { requestId: own.requestId }), 403, 'its RelayState, our request')
  assert.equal(await post(other.relayState, { requestId: other.requestId }), 403, 'its sign-in, our response')
  assert.equal(await post(own.relayState, { requestId: other.requestId }), 403, 'our RelayState, its request')
  assert.equal(await post(own.relayState, { requestId: own.requestId }, otherId), 403, 'our sign-in, there')
  assert.equal(await post(own.relayState, {}), 403, 'a response to no request')
  assert.equal(await post(own.relayState.slice(1), { requestId: own.requestId }), 403, 'truncated')
  assert.notEqual(
    await post(own.relayState, { requestId: own.requestId }, routeId),
    403,
    'and nothing is used up',
  )
})

test('a ticket is invalid in another browser and with cookies of another sign-in', async (t) => {
  const { begin, post, redeemTicket } = await start(t)
  const victim = await begin()

  for (const cookies of [[], (await begin()).cookies, (await begin(OTHER)).cookies]) {
    const attacker = await begin()
    const ticket = await post(attacker.relayState, { requestId: attacker.requestId })
    assert.equal(await redeemTicket(ticket, cookies), 403)
  }

  const ticket = await post(victim.relayState, { requestId: victim.requestId })
  assert.equal(await redeemTicket(ticket, victim.cookies), 'a session')
})

test('RelayState expires after ten minutes and leads back, a ticket after one', async (t) => {
  const { begin, post, redeemTicket, time } = await start(t)
  const expired = await begin()
  time.now += 10 * 60_000 + 1
  assert.equal(await post(expired.relayState, { requestId: expired.requestId }), `https://${HOST}/page`)

  time.now = Date.now()
  const slow = await begin()
  const ticket = await post(slow.relayState, { requestId: slow.requestId })
  time.now += 60_001
  assert.equal(await redeemTicket(ticket, slow.cookies), 403)
})

test('an oversized RelayState is rejected', async (t) => {
  const { post } = await start(t)

  assert.equal(await post('x'.repeat(5000), {}), 403)
})

type Harness = Awaited<ReturnType<typeof start>>

const changes: Record<string, (harness: Harness) => void> = {
  'the module has other settings': ({ protect, routeId }) =>
    protect(routeId, { authorized_groups: ['staff'] }),
  'the module has another provider': ({ protect, routeId, metadata }) =>
    protect(routeId, { idp_metadata: metadata.replace('urn:test:idp', 'urn:other:idp') }),
  'the module is switched off': ({ protect, routeId }) => protect(routeId, { enabled: false }),
  'the module is gone': ({ config, routeId }) => config.update(routeId, { saml: null }),
  'the route is gone': ({ config, routeId }) => config.remove(routeId),
  'the host is another edge’s': ({ config, edgeId, backendId, protect }) => {
    config.update(edgeId, { hostports: ['moved.adit.localhost:443'] })
    const edge_id = config.create(HttpsEdge, { hostports: [`${HOST}:443`] })
    const backend = { backend_id: backendId }
    protect(config.create(HttpsRoute, { edge_id, match_type: 'path_prefix', match: '/', backend }))
  },
}

for (const [name, change] of Object.entries(changes))
  test(`RelayState and tickets are invalid once ${name}`, async (t) => {
    const harness = await start(t)
    const { begin, post, redeemTicket, config } = harness
    const [first, second] = [await begin(), await begin()]
    const ticket = await post(first.relayState, { requestId: first.requestId })

    change(harness)
    await config.waitUntilApplied()

    const outcome = await post(second.relayState, { requestId: second.requestId, groups: ['staff'] })
    assert.ok(outcome === 403 || outcome === 404, String(outcome))
    const initiated = await post(`https://${HOST}/page`, { groups: ['staff'] })
    if (name !== 'the module has other settings')
      assert.ok(initiated === 403 || initiated === 404, 'nor an IdP-initiated one')
    assert.notEqual(await redeemTicket(ticket, first.cookies), 'a session')
  })

const removals: Record<string, (harness: Harness) => void> = {
  'the module is switched off': ({ protect, routeId }) => protect(routeId, { enabled: false }),
  'the module is gone': ({ config, routeId }) => config.update(routeId, { saml: null }),
  'the route is gone': ({ config, routeId }) => config.remove(routeId),
  'the edge is gone': ({ config, routeId, edgeId }) => {
    config.remove(routeId)
    config.remove(edgeId)
  },
}

for (const [name, remove] of Object.entries(removals))
  test(`the URLs of a service provider respond 404 as soon as ${name}`, async (t) => {
    const harness = await start(t)
    const { routeId, otherId, sendRequest, config } = harness
    const statuses = async (id: string) => [
      (await sendRequest({ host: IDP, path: `/saml/${id}` })).status,
      (await sendRequest({ host: IDP, path: `/saml/${id}/slo?SAMLRequest=x` })).status,
      (await sendRequest({ host: IDP, path: `/saml/${id}/acs`, method: 'POST' })).status,
    ]
    assert.deepEqual(await statuses(routeId), [200, 403, 403])

    remove(harness)
    await config.waitUntilApplied()

    assert.deepEqual(await statuses(routeId), [404, 404, 404])
    assert.deepEqual(await statuses(otherId), [200, 403, 403], 'another route keeps its own')
  })

test('a service provider publishes its metadata before its edge has a host', async (t) => {
  const { config, edgeId, routeId, sendRequest } = await start(t)

  config.update(edgeId, { hostports: [] })
  await config.waitUntilApplied()

  const { status, text } = await sendRequest({ host: IDP, path: `/saml/${routeId}` })
  assert.equal(status, 200)
  assert.match(text, new RegExp(`entityID="https://${IDP}/saml/${routeId}"`))
})

test('the metadata of a service provider announces both bindings for log-out requests', async (t) => {
  const { routeId, sendRequest } = await start(t)

  const { text } = await sendRequest({ host: IDP, path: `/saml/${routeId}` })

  const services = [...text.matchAll(/<SingleLogoutService Binding="([^"]+)" Location="([^"]+)"\/>/g)]
  assert.deepEqual(
    services.map(([, binding, location]) => [binding, location]),
    ['HTTP-POST', 'HTTP-Redirect'].map((name) => [
      `urn:oasis:names:tc:SAML:2.0:bindings:${name}`,
      `https://${IDP}/saml/${routeId}/slo`,
    ]),
  )
})
