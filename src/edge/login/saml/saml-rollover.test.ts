import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { inflateRawSync } from 'node:zlib'
import { SAML } from '@node-saml/node-saml'
import { signXml } from '@node-saml/node-saml/lib/xml.js'
import { HOST } from '../../testing/https-edge.ts'
import { IDP } from '../../testing/login/login-page.ts'
import { startSamlPage } from '../../testing/login/saml-page.ts'
import { createSamlProvider } from '../../testing/login/saml-provider.ts'

const METADATA_URL = 'https://idp.example/metadata'

/** A page whose provider publishes its metadata at a URL, and can replace its key. */
async function start(t: TestContext) {
  const next = await createSamlProvider()
  const published = { metadata: '', fetches: 0, respond: async () => new Response(published.metadata) }
  const outbound = {
    fetch: () => {
      published.fetches++
      return published.respond()
    },
  }
  const settings = { idp_metadata: '', idp_metadata_url: METADATA_URL }
  const page = await startSamlPage(t, { settings, outbound })
  published.metadata = page.provider.metadata
  const rollOver = () => {
    published.metadata = next.metadata
  }

  /** Opens the page and posts a response that is signed with this key; returns a URL or a status. */
  async function signIn(key: string) {
    const { relayState, requestId, cookies } = await page.begin()
    const ticket = await page.post(relayState, { requestId, key })
    return typeof ticket === 'string' ? page.redeemTicket(ticket, cookies) : ticket
  }

  /** A logout request in a query. */
  function logoutQuery(key: string): Promise<string> {
    const url = `https://${IDP}/saml/${page.routeId}/slo`
    const saml = new SAML({
      callbackUrl: url,
      entryPoint: url,
      logoutUrl: url,
      issuer: 'urn:test:idp',
      idpCert: next.certificatePem,
      privateKey: key,
      signatureAlgorithm: 'sha256',
    })
    return saml.getLogoutUrlAsync({ issuer: 'urn:test:idp', nameID: 'ada-id', nameIDFormat: '' }, '', {})
  }

  async function logoutByQuery(key: string): Promise<number> {
    const { pathname, search } = new URL(await logoutQuery(key))
    return (await page.sendRequest({ host: IDP, path: `${pathname}${search}` })).status
  }

  async function logoutByForm(key: string): Promise<number> {
    const { pathname, searchParams } = new URL(await logoutQuery(key))
    const xml = inflateRawSync(Buffer.from(searchParams.get('SAMLRequest') ?? '', 'base64')).toString()
    const location = { reference: "/*/*[local-name()='Issuer']", action: 'after' as const }
    const options = { privateKey: key, signatureAlgorithm: 'sha256', digestAlgorithm: 'sha256' } as const
    const signed = signXml(xml, "/*[local-name()='LogoutRequest']", location, options)
    const { status } = await page.sendRequest({
      host: IDP,
      path: pathname,
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ SAMLRequest: Buffer.from(signed).toString('base64') }).toString(),
    })
    return status
  }

  return { ...page, published, rollOver, signIn, logoutByQuery, logoutByForm, nextKey: next.key }
}

test('the first person after a provider has replaced its key signs in', async (t) => {
  const { provider, published, rollOver, signIn, nextKey } = await start(t)
  assert.equal(await signIn(provider.key), 'a session')
  assert.equal(published.fetches, 1)

  rollOver()

  assert.equal(await signIn(nextKey), 'a session')
  assert.equal(await signIn(nextKey), 'a session')
  assert.equal(published.fetches, 2)
  assert.equal(await signIn(provider.key), 403, 'the key that was replaced')
})

for (const [binding, logout] of [
  ['a query', 'logoutByQuery'],
  ['a form', 'logoutByForm'],
] as const)
  test(`a logout request in ${binding} is accepted with a new key`, async (t) => {
    const { provider, published, rollOver, signIn, nextKey, ...page } = await start(t)
    assert.equal(await signIn(provider.key), 'a session')

    rollOver()

    // The provider of the test takes no response to a logout.
    assert.equal(await page[logout](nextKey), 200)
    assert.equal(published.fetches, 2)
    assert.equal(await page[logout](provider.key), 403, 'the key that was replaced')
  })

test('a hundred forged responses and logout requests cause one fetch in a minute', async (t) => {
  const { published, provider, begin, sendRequest, routeId, time, nextKey, ...page } = await start(t)
  const { relayState, requestId } = await begin()
  published.fetches = 0
  const entityId = `https://${IDP}/saml/${routeId}`
  const bodies = [
    provider.formFor(entityId, relayState, { requestId, key: nextKey }),
    provider.formFor(entityId, `https://${HOST}/page`, { key: nextKey }),
  ]
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const path = `/saml/${routeId}/acs`
  const forge = async (count: number) => {
    // Concurrent, but fewer than an account may have in the queue of the workers.
    for (let sent = 0; sent < count; sent += 20) {
      const batch = Array.from({ length: 20 }, (_, index) =>
        sendRequest({ host: IDP, path, method: 'POST', headers, body: bodies[index % 2]! }),
      )
      for (const { status } of await Promise.all(batch)) assert.equal(status, 403)
    }
  }

  await forge(100)
  assert.equal(await page.logoutByQuery(nextKey), 403)
  assert.equal(await page.logoutByForm(nextKey), 403)
  assert.equal(published.fetches, 1)

  time.elapsed += 60_000
  await forge(20)
  assert.equal(published.fetches, 2)
})

test('metadata that cannot be read again stays as it is, and is not tried again for a minute', async (t) => {
  const { provider, published, signIn, rollOver, nextKey, time } = await start(t)
  assert.equal(await signIn(provider.key), 'a session')
  const { respond } = published
  const failures = [
    () => Promise.reject(new Error('no route')),
    async () => new Response('', { status: 503 }),
    async () => new Response('<html/>'),
  ]

  for (const failure of failures) {
    published.respond = failure
    published.fetches = 0
    assert.equal(await signIn(nextKey), 403)
    assert.equal(await signIn(nextKey), 403)
    assert.equal(published.fetches, 1)
    assert.equal(await signIn(provider.key), 'a session')
    time.elapsed += 60_000
  }

  published.respond = respond
  rollOver()
  assert.equal(await signIn(nextKey), 'a session')
})

test('a message that is not signed at all, or is wrong in another way, causes no fetch', async (t) => {
  const { published, begin, post, sendRequest, routeId, provider } = await start(t)
  const { relayState, requestId } = await begin()
  published.fetches = 0

  for (const response of [
    { sign: 'none' as const },
    { audience: 'urn:other' },
    { status: '' },
    { issuer: 'urn:x' },
  ])
    assert.notEqual(typeof (await post(relayState, { requestId, key: provider.key, ...response })), 'string')
  await sendRequest({ host: IDP, path: `/saml/${routeId}/slo?SAMLRequest=x` })

  assert.equal(published.fetches, 0)
})

test('metadata is read again every hour', async (t) => {
  const { provider, signIn, rollOver, nextKey, time } = await start(t)
  assert.equal(await signIn(provider.key), 'a session')

  rollOver()
  time.elapsed += 3_600_000

  assert.equal(await signIn(provider.key), 403)
  assert.equal(await signIn(nextKey), 'a session')
})
