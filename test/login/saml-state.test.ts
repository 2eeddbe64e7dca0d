import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { CookieClient } from '../support/browser-client.ts'
import { eventually } from '../support/eventually.ts'
import { startSamlRoute } from './saml-route.ts'

/** Starts a SAML route; `begin` returns the form with the provider's response, `deliver` posts it and returns the ticket. */
async function start(t: TestContext) {
  const samlRoute = await startSamlRoute(t)
  const { platform, idp, url, saml, browser } = samlRoute
  const { https_edges } = (await platform.call('GET', '/edges/https')).body
  const edge = https_edges[0]
  const module = `/edges/https/${edge.id}/routes/${edge.routes[0].id}/saml`

  async function begin() {
    const redirectResponse = await browser.once(`${url}/page`)
    await redirectResponse.text()
    const authnRequest = await idp.request(redirectResponse.headers.get('location') ?? '')
    const xml = await idp.respond(authnRequest.issuer, authnRequest.assertionConsumerServiceURL, {
      inResponseTo: authnRequest.id,
    })
    return new URLSearchParams({
      SAMLResponse: Buffer.from(xml).toString('base64'),
      RelayState: authnRequest.relayState,
    }).toString()
  }

  async function deliver(body: string) {
    const response = await browser.once(saml.assertion_consumer_service_url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body,
    })
    await response.text()
    return { status: response.status, ticket: response.headers.get('location') ?? '' }
  }

  return { ...samlRoute, module, begin, deliver }
}

test('a RelayState and a ticket are invalid once the SAML module has changed or is deleted', async (t) => {
  const { platform, idp, url, module, browser, begin, deliver } = await start(t)
  const changes = [
    () => platform.call('PUT', module, { body: { idp_metadata: idp.metadata, maximum_duration: 77 } }),
    () => platform.call('DELETE', module),
  ]
  for (const change of changes) {
    const pendingBody = await begin()
    const { ticket } = await deliver(await begin())
    const signedIn = await browser.get((await deliver(await begin())).ticket)
    assert.equal(signedIn.status, 200)

    assert.ok((await change()).status < 300)
    // Sessions end when their settings change, so this proves that the change has reached the edge.
    const isSignedIn = async () => /adit-auth-user-id/.test(await (await browser.once(`${url}/page`)).text())
    await eventually(async () => !(await isSignedIn()), 'the module has changed')

    const rejected = await deliver(pendingBody)
    assert.ok([403, 404].includes(rejected.status), String(rejected.status))
    const cookies = browser.cookies(new URL(url).host)
    await (await browser.once(ticket)).text()
    assert.deepEqual(browser.cookies(new URL(url).host), cookies, 'no session is created')
  }
})

test('the ticket of a SAML sign-in works once, in the browser that began', async (t) => {
  const { platform, url, browser, begin, deliver } = await start(t)
  const stolenTicket = await deliver(await begin())
  assert.equal(stolenTicket.status, 303)

  const thief = new CookieClient(platform)
  assert.equal((await thief.get(stolenTicket.ticket)).status, 403)
  assert.equal((await browser.once(stolenTicket.ticket)).status, 303, 'it is used up, and leads back')
  assert.equal((await browser.once(url)).status, 302, 'to a new sign-in')
  const { ticket } = await deliver(await begin())
  assert.equal((await browser.get(ticket)).status, 200)
  assert.equal((await thief.once(ticket)).status, 303)
  assert.equal((await thief.once(url)).status, 302)
})
