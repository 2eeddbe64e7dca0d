import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import samlp from 'samlp'
import { createSamlProvider } from '../../src/edge/testing/login/saml-provider.ts'
import { CookieClient } from '../support/browser-client.ts'
import { eventuallyStatus, startPlatform, type TestPlatform } from '../support/platform.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { createAppRoute, startHeaderEcho } from './protected-route.ts'
import { forgeResponse } from './saml-forge.ts'

const ALLOW_LOCAL = ['--outbound-allow', '127.0.0.1']

const policyOf = (config: object) => ({
  traffic_policy: {
    value: JSON.stringify({ on_http_request: [{ actions: [{ type: 'saml', config }] }] }),
  },
})

/** A route whose policy signs visitors in with SAML. */
async function protect(t: TestContext, platform: TestPlatform, config: object) {
  const provider = await createSamlProvider()
  const settings = { idp_metadata: provider.metadata, ...config }
  const { edge, route } = await createAppRoute(platform, await startHeaderEcho(t), policyOf(settings))
  const path = `/edges/https/${edge.id}/routes/${route.id}`
  const change = (changed: object) =>
    platform.call('PATCH', path, { body: policyOf({ ...settings, ...changed }) })
  await eventuallyStatus(platform, pageUrl(platform), 302)
  return { ...provider, routeId: route.id as string, change }
}

const portOf = ({ credentials }: TestPlatform) => new URL(credentials.https_url).port
const pageUrl = (platform: TestPlatform) => `https://app.adit.localhost:${portOf(platform)}/page`
const entityIdOf = (platform: TestPlatform, routeId: string) =>
  `https://idp.adit.localhost:${portOf(platform)}/saml/${routeId}`

/** Reads the metadata of the service provider as a provider that imports it. */
async function importMetadata(platform: TestPlatform, routeId: string) {
  const metadata = await (await platform.fetch(entityIdOf(platform, routeId))).text()
  const [, certificate] = /<ds:X509Certificate>([^<]+)</.exec(metadata) ?? []
  return {
    isSigned: metadata.includes('AuthnRequestsSigned="true"'),
    signingCert: certificate && new X509Certificate(Buffer.from(certificate, 'base64')).toString(),
  }
}

/** Reads a request as a provider does that accepts signed ones only. */
function readSigned(url: string, signingCert: string): Promise<{ id: string }> {
  const query = Object.fromEntries(new URL(url).searchParams)
  return new Promise((resolve, reject) => {
    const request = { method: 'GET', query, originalUrl: url }
    const relayState = query.RelayState
    samlp.parseRequest(request, { signingCert, relayState }, (error, data) =>
      error ? reject(error) : resolve(data),
    )
  })
}

test('a policy signs its requests with the key that its metadata announces', async (t) => {
  const platform = await startPlatform(t, ALLOW_LOCAL)
  const { key, routeId } = await protect(t, platform, { sign_requests: true })
  const browser = new CookieClient(platform)

  const { isSigned, signingCert } = await importMetadata(platform, routeId)
  const location = (await browser.once(pageUrl(platform))).headers.get('location') ?? ''
  const { id } = await readSigned(location, signingCert ?? '')

  assert.equal(isSigned, true)
  const changed = new URL(location)
  changed.searchParams.set('RelayState', 'other')
  await assert.rejects(readSigned(changed.href, signingCert ?? ''), /signature/i)
  const entityId = entityIdOf(platform, routeId)
  const response = await browser.once(`${entityId}/acs`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({
      SAMLResponse: Buffer.from(
        forgeResponse({ key, acs: `${entityId}/acs`, entityId, requestId: id }),
      ).toString('base64'),
      RelayState: new URL(location).searchParams.get('RelayState') ?? '',
    }).toString(),
  })
  const page = await browser.get(response.headers.get('location') ?? '')
  assert.equal(page.status, 200, page.text)
})

test('a policy signs nothing until that is switched on', async (t) => {
  const platform = await startPlatform(t, ALLOW_LOCAL)
  const { routeId, change } = await protect(t, platform, {})
  const begin = async () =>
    (await new CookieClient(platform).once(pageUrl(platform))).headers.get('location') ?? ''

  assert.deepEqual(await importMetadata(platform, routeId), { isSigned: false, signingCert: undefined })
  assert.ok(!new URL(await begin()).searchParams.has('Signature'))

  assert.equal((await change({ sign_requests: true })).status, 200)
  await eventuallyStatus(platform, pageUrl(platform), 302)
  const { signingCert } = await importMetadata(platform, routeId)
  await readSigned(await begin(), signingCert ?? '')
})

test('the API warns of a provider that wants signed requests', async (t) => {
  const platform = await startPlatform(t, ALLOW_LOCAL)
  const { metadata, change } = await protect(t, platform, {})
  const idp_metadata = metadata.replace(
    '<IDPSSODescriptor',
    '<IDPSSODescriptor WantAuthnRequestsSigned="true"',
  )

  const warned = await change({ idp_metadata })
  const signed = await change({ idp_metadata, sign_requests: true })

  assert.match(warned.headers.get('warning') ?? '', /wants signed requests.*sign_requests/)
  assert.equal(signed.headers.get('warning'), null)
})

test('every node signs with the same key', async (t) => {
  const flags = ['--database-url', (await createTestDatabase(t)).url]
  const first = await startPlatform(t, flags)
  const { routeId } = await protect(t, first, { sign_requests: true })
  const second = await startPlatform(t, ['--master-key-file', join(first.dataDir, 'master.key'), ...flags])

  const [one, other] = await Promise.all([first, second].map((node) => importMetadata(node, routeId)))

  assert.equal(one!.isSigned, true)
  assert.deepEqual(other, one)
  const location = (await new CookieClient(second).once(pageUrl(second))).headers.get('location') ?? ''
  await readSigned(location, one!.signingCert ?? '')
})
