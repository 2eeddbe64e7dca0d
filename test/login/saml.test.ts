import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inflateRawSync } from 'node:zlib'
import { createSelfSigned } from '../../src/certs/index.ts'
import { CookieClient } from '../support/browser-client.ts'
import { eventuallyEqual } from '../support/eventually.ts'
import { startForgingRoute } from './forged-responses.ts'
import { samlAttribute } from './saml-forge.ts'
import { type ResponseOverrides, startSamlRoute } from './saml-route.ts'

test('a client signs in at the SAML identity provider and returns to the requested page', async (t) => {
  const { url, attempt, platform, saml } = await startSamlRoute(t)

  const page = await attempt()

  assert.equal(page.status, 200, page.text)
  const headers = JSON.parse(page.text) as Record<string, string>
  assert.equal('way' in page && page.way.at(-1), `${url}/page`)
  assert.equal(headers['adit-auth-user-id'], 'ada-id')
  assert.equal(headers['adit-auth-user-email'], 'ada@example.com')
  assert.equal(headers['adit-auth-user-groups'], 'staff')
  const metadata = await (await platform.fetch(saml.metadata_url)).text()
  assert.ok(
    metadata.includes(`entityID="${saml.entity_id}"`) &&
      metadata.includes(saml.assertion_consumer_service_url),
  )
})

test('only members of an authorized group are admitted', async (t) => {
  const { attempt } = await startSamlRoute(t, { authorized_groups: ['admins'] })

  assert.equal((await attempt({ groups: ['admin', 'admins2'] })).status, 403)
  assert.equal((await attempt({ groups: ['staff', 'admins'] })).status, 200)
})

test('every attribute of the groups counts, and settings name other attributes', async (t) => {
  const usual = await startForgingRoute(t, { authorized_groups: ['admins'] })
  const attributes = ['staff', 'admins'].map((group) => samlAttribute('Name="Role"', group)).join('')
  assert.equal(await usual.attempt({ attributes }), 'ada-id')

  const named = await startForgingRoute(t, { authorized_groups: ['admins'], groups_attribute: 'team' })
  assert.equal(await named.attempt({ attributes }), 403)
  assert.equal(await named.attempt({ attributes: attributes.replaceAll('Role', 'team') }), 'ada-id')
})

test('a response that is not exactly what the provider signed for this route is rejected', async (t) => {
  const { platform, attempt, post, idp, saml, browser, url } = await startSamlRoute(t)
  const other = await createSelfSigned({ commonName: 'other' })
  const otherKey = { cert: other.certificatePem, key: other.privateKeyPem.reveal() }
  const replaceName = (xml: string) => xml.replace('>ada-id<', '>root<')
  const wrapAssertion = (xml: string) => {
    const assertion = /<saml:Assertion[\s\S]*<\/saml:Assertion>/.exec(xml)?.[0] ?? ''
    const evil = assertion
      .replace(/ID="[^"]+"/, 'ID="_evil"')
      .replace('>ada-id<', '>root<')
      .replace(/<Signature[\s\S]*<\/Signature>/, '')
    return xml.replace(assertion, `${evil}<Extensions>${assertion}</Extensions>`)
  }
  const prependAssertion = (xml: string) => {
    const assertion = /<saml:Assertion[\s\S]*<\/saml:Assertion>/.exec(xml)?.[0] ?? ''
    const evil = assertion
      .replace(/ID="[^"]+"/, 'ID="_evil"')
      .replace('>ada-id<', '>root<')
      .replace(/<Signature[\s\S]*<\/Signature>/, '')
    return xml.replace(assertion, evil + assertion)
  }
  const cases: [string, ResponseOverrides, ((xml: string) => string)?][] = [
    ['unsigned', { signAssertion: false }],
    ['signed by another key', otherKey],
    ['for another audience', { audience: 'urn:someone:else' }],
    ['for another recipient', { recipient: 'https://evil.example/acs' }],
    ['signed with SHA-1', { signatureAlgorithm: 'rsa-sha1' }],
    ['answering another request', { inResponseTo: '_other' }],
    ['expired', { lifetimeInSeconds: -3600 }],
    ['with a changed name', {}, replaceName],
    ['with a second assertion before the signed one', {}, prependAssertion],
    ['with the signed assertion moved into an extension', {}, wrapAssertion],
    ['with a comment inside the name', {}, (xml) => xml.replace('>ada-id<', '>ada<!-- x -->-id<')],
    ['with a document type', {}, (xml) => `<!DOCTYPE x [<!ENTITY e "x">]>${xml}`],
    ['that is not XML', {}, () => 'hello'],
    ['that is empty', {}, () => ''],
  ]
  for (const [title, overrides, tamper] of cases)
    assert.notEqual((await attempt(overrides, tamper)).status, 200, title)

  const redirectResponse = await browser.once(`${url}/page`)
  const authnRequest = await idp.request(redirectResponse.headers.get('location') ?? '')
  const xml = await idp.respond(saml.entity_id, saml.assertion_consumer_service_url, {
    inResponseTo: authnRequest.id,
  })
  assert.equal((await post(xml, authnRequest.relayState)).status, 200)
  const thief = new CookieClient(platform)
  await assert.rejects(
    post(xml, authnRequest.relayState, thief),
    'a second time it leads back to the provider',
  )
  assert.equal((await thief.once(url)).status, 302, 'not signed in')
})

test('a response posted by another browser is rejected', async (t) => {
  const { platform, url, browser, idp, post } = await startSamlRoute(t)
  const redirectResponse = await browser.once(`${url}/page`)
  const authnRequest = await idp.request(redirectResponse.headers.get('location') ?? '')
  const xml = await idp.respond(authnRequest.issuer, authnRequest.assertionConsumerServiceURL, {
    inResponseTo: authnRequest.id,
  })

  const victim = new CookieClient(platform)

  assert.equal((await post(xml, authnRequest.relayState, victim)).status, 403)
})

test('a sign-in initiated by the provider opens the page it names, if allowed', async (t) => {
  const openRoute = await startSamlRoute(t)
  const postResponse = async (samlRoute: typeof openRoute, relay: string) =>
    samlRoute.post(
      await samlRoute.idp.respond(samlRoute.saml.entity_id, samlRoute.saml.assertion_consumer_service_url),
      relay,
      new CookieClient(samlRoute.platform),
    )

  assert.equal((await postResponse(openRoute, `${openRoute.url}/from/portal`)).status, 200)
  assert.equal((await postResponse(openRoute, '')).status, 403)

  const closedRoute = await startSamlRoute(t, { allow_idp_initiated: false })
  assert.equal((await postResponse(closedRoute, `${closedRoute.url}/from/portal`)).status, 403)
})

test('a sign-in initiated by the provider redirects only to pages of its own route', async (t) => {
  const { idp, saml, post, platform, url } = await startSamlRoute(t)
  const { port } = new URL(url)
  await platform.call.create('/reserved_domains', { domain: 'other.adit.localhost' })
  const otherUrls = [
    'https://evil.example/',
    `https://evil.example:${port}/`,
    '//evil.example/',
    `https://app.adit.localhost.evil.example:${port}/`,
    `https://app.adit.localhost@evil.example:${port}/`,
    `https://evil.example:${port}/#@app.adit.localhost`,
    `https://evil.example:${port}\\@app.adit.localhost/`,
    `http://app.adit.localhost:${port}/`,
    'https://app.adit.localhost:1/',
    `https://other.adit.localhost:${port}/`,
    `https://idp.adit.localhost:${port}/`,
    'javascript:alert(1)',
    'data:text/html,x',
    'page',
  ]
  for (const relay of otherUrls) {
    const xml = await idp.respond(saml.entity_id, saml.assertion_consumer_service_url)
    assert.equal((await post(xml, relay, new CookieClient(platform))).status, 403, relay)
  }

  const xml = await idp.respond(saml.entity_id, saml.assertion_consumer_service_url)
  const page = await post(xml, `${url}//evil.example/x`, new CookieClient(platform))
  assert.equal(page.status, 200)
  assert.ok('way' in page && page.way.every((address) => new URL(address).host === new URL(url).host))
})

test('a logout request of the provider ends the sessions of that user if it is signed, unmodified and new', async (t) => {
  const { idp, saml, attempt, browser, url } = await startSamlRoute(t)
  const other = await createSelfSigned({ commonName: 'other' })
  await attempt()
  const status = async () => (await browser.once(`${url}/page`)).status
  const deliver = async (address: string) => (await browser.once(address)).status
  const slo = saml.single_logout_url
  const validUrl = await idp.signOut(slo, 'ada-id')
  const forBob = await idp.signOut(slo, 'bob-id')
  const unsignedUrl = validUrl.replace(/&(SigAlg|Signature)=[^&]*/g, '')
  const request = new URL(validUrl).search
    .slice(1)
    .split('&')
    .find((pair) => pair.startsWith('SAMLRequest='))

  assert.equal(await deliver(unsignedUrl), 403, 'unsigned')
  assert.equal(await deliver(`${forBob}&${request}`), 403, 'two messages, one of them signed')
  assert.equal(await deliver(forBob.replace(/SAMLRequest=[^&]*/, request ?? '')), 403, 'another signature')
  assert.equal(
    await deliver(await idp.signOut(slo, 'ada-id', { key: other.privateKeyPem.reveal() })),
    403,
    'another key',
  )
  const misdirected = new URL(await idp.signOut('https://else.example/slo', 'ada-id'))
  assert.equal(await deliver(`${slo}${misdirected.search}`), 403, 'another destination')
  assert.equal(await deliver(forBob), 303, 'another user')
  assert.equal(await status(), 200)

  const response = await browser.once(validUrl)

  assert.equal(response.status, 303)
  assert.match(response.headers.get('location') ?? '', /^https:\/\/idp\.example\/slo\?SAMLResponse=/)
  assert.equal(await status(), 302)
  assert.equal(await deliver(validUrl), 403, 'a second time')
})

test('sessions are listed with their identity provider, and a logout request of the provider removes them', async (t) => {
  const { idp, saml, attempt, browser, url, platform } = await startSamlRoute(t)
  const list = async () => (await platform.call('GET', '/app/sessions')).body.application_sessions
  await attempt()
  await eventuallyEqual(async () => (await list()).length, 1)
  const { body: users } = await platform.call('GET', '/app/users')
  const [user] = users.application_users
  assert.deepEqual(user.identity_provider, { name: 'urn:test:idp', url: 'urn:test:idp' })
  assert.equal(user.provider_user_id, 'ada-id')

  assert.equal((await browser.once(await idp.signOut(saml.single_logout_url, 'ada-id'))).status, 303)
  assert.deepEqual(await list(), [])

  await eventuallyEqual(async () => (await attempt()).status, 200)
  assert.equal((await platform.call('DELETE', `/app/users/${user.id}`)).status, 204)
  await eventuallyEqual(async () => (await browser.once(`${url}/page`)).status, 302)
})

test('a posted logout request ends the sessions if its signature covers it', async (t) => {
  const { idp, saml, attempt, browser, url } = await startSamlRoute(t)
  await attempt()
  const slo = saml.single_logout_url
  const deliver = async (xml: string) => {
    const body = new URLSearchParams({ SAMLRequest: Buffer.from(xml).toString('base64') }).toString()
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    return (await browser.once(slo, { method: 'POST', headers, body })).status
  }
  const forBob = await idp.signOutForm(slo, 'bob-id')
  const validUrl = await idp.signOutForm(slo, 'ada-id')

  assert.equal(await deliver(forBob.replace('bob-id', 'ada-id')), 403, 'changed')
  assert.equal(await deliver(validUrl.replace(/<Signature[\s\S]*<\/Signature>/, '')), 403, 'unsigned')
  assert.equal(await deliver(validUrl.replace('ada-id', 'ada<!-- x -->-id')), 403, 'with a comment')
  assert.equal(await deliver('<x/>'), 403)
  assert.equal((await browser.once(`${url}/page`)).status, 200)
  assert.equal(await deliver(validUrl), 303)
  assert.equal((await browser.once(`${url}/page`)).status, 302)
})

test('signing out at the page sends a logout request to the provider', async (t) => {
  const { attempt, browser, url } = await startSamlRoute(t)
  await attempt()

  const response = await browser.once(`${url}/auth/logout`)

  const { origin, pathname, searchParams } = new URL(response.headers.get('location') ?? '')
  assert.equal(`${origin}${pathname}`, 'https://idp.example/slo')
  const xml = inflateRawSync(Buffer.from(searchParams.get('SAMLRequest') ?? '', 'base64')).toString()
  assert.match(xml, /LogoutRequest/)
  assert.match(xml, />ada-id</)
  assert.ok(searchParams.has('Signature'))
  assert.equal((await browser.once(`${url}/page`)).status, 302)
})
