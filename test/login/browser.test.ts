import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import samlp from 'samlp'
import { createSelfSigned } from '../../src/certs/index.ts'
import { eventually, TIMEOUT_MS } from '../support/eventually.ts'
import { startHttp } from '../support/local-server.ts'
import { eventuallyStatus, startPlatform } from '../support/platform.ts'
import { ARTEFACTS, launchChromium } from '../web/browser.ts'
import { startProvider } from './openid-provider.ts'

const SECRET = 'app-secret-app-secret-app-secret'

let browser: Browser
before(async () => {
  browser = await launchChromium([
    '--ignore-certificate-errors',
    '--host-resolver-rules=MAP *.adit.localhost 127.0.0.1',
  ])
})
after(() => browser.close())

/** Creates a protected route; its login module is built once the URL of the login host is known. */
async function protect(t: TestContext, login: (idpUrl: string) => Promise<Record<string, unknown>>) {
  const platform = await startPlatform(t, ['--outbound-allow', '127.0.0.1'])
  const { call, credentials } = platform
  const { port } = new URL(credentials.https_url)
  const upstream = await startHttp(t, (request, response) => {
    response.setHeader('content-type', 'text/html')
    response.end(`<h1>Hello ${request.headers['adit-auth-user-id']}</h1><p>${request.url}</p>`)
  })
  await call.create('/reserved_domains', { domain: 'app.adit.localhost' })
  const backend = await call.create('/backends/static', { address: `127.0.0.1:${upstream}` })
  const edge = await call.create('/edges/https', { hostports: ['app.adit.localhost:443'] })
  const route = await call.create(`/edges/https/${edge.id}/routes`, {
    match_type: 'path_prefix',
    match: '/',
    backend: { backend_id: backend.id },
    ...(await login(`https://idp.adit.localhost:${port}`)),
  })
  const url = `https://app.adit.localhost:${port}`
  await eventuallyStatus(platform, url, 302)
  const context = await browser.newContext({ ignoreHTTPSErrors: true })
  t.after(() => context.close())
  const page = await context.newPage()
  page.setDefaultTimeout(TIMEOUT_MS)
  return { platform, url, page, route, context }
}

const takeScreenshot = (page: Page, name: string) =>
  page.screenshot({ path: join(ARTEFACTS, `login-${name}.png`) })

/** Signs in on the pages of the OpenID provider. */
async function signInAtProvider(page: Page, url: string): Promise<void> {
  await page.goto(url)
  if ((await page.locator('input[name=login]').count()) > 0) {
    await page.fill('input[name=login]', 'ada')
    await page.fill('input[name=password]', 'x')
    await page.click('button[type=submit]')
  }
  await page.click('button[type=submit]')
  await page.waitForURL(url)
}

test('OpenID in a browser: sign in, expire, be rejected, sign out', async (t) => {
  let oidc = {}
  const { page, url, context } = await protect(t, async (idpUrl) => {
    const { issuer } = await startProvider(t, `${idpUrl}/oauth2/callback`)
    oidc = { issuer, client_id: 'app', client_secret: SECRET, maximum_duration: 6 }
    return { oidc }
  })

  await signInAtProvider(page, `${url}/deep/page?x=1`)
  await takeScreenshot(page, 'oidc-signed-in')
  assert.equal(await page.locator('h1').textContent(), 'Hello ada')
  const cookies = (await context.cookies(url)).filter(({ name }) => name.includes('session'))
  assert.deepEqual(
    cookies.map(({ name, secure, httpOnly, sameSite, path }) => [name, secure, httpOnly, sameSite, path]),
    [
      ['adit.session', true, true, 'Lax', '/'],
      ['__Host-adit.session', true, true, 'Lax', '/'],
    ],
  )

  // The provider still has its own session, so an expired session is renewed by redirects alone.
  const [oldCookie] = cookies
  await eventually(async () => {
    await page.goto(`${url}/again`)
    const consent = page.locator('button[type=submit]')
    if ((await consent.count()) > 0) await consent.first().click()
    const newCookie = (await context.cookies(url)).find(({ name }) => name === 'adit.session')
    return newCookie?.value !== oldCookie?.value
  }, 'a new session')
  await page.waitForURL(`${url}/again`)

  await page.goto(`${url}/auth/callback?code=x&state=y`)
  await takeScreenshot(page, 'oidc-refused')
  assert.match((await page.locator('h1 + p').textContent()) ?? '', /it took too long/)

  // Renews the session if it has expired since: without one there is nobody to sign out at the provider.
  await page.goto(`${url}/again`)
  await page.waitForURL(`${url}/again`)
  await page.goto(`${url}/auth/logout`)
  await takeScreenshot(page, 'oidc-signing-out')
  await page.click('button[value=yes]')
  await page.goto(url)
  await takeScreenshot(page, 'oidc-signed-out')
  assert.equal(await page.locator('input[name=login]').count(), 1, 'the provider asks who it is')
})

/** Starts a SAML identity provider whose sign-in page accepts any name and group. */
async function startSamlProvider(t: TestContext) {
  const { certificatePem: cert, privateKeyPem } = await createSelfSigned({ commonName: 'idp.example' })
  const key = privateKeyPem.reveal()
  const port = await startHttp(t, (request, response) => {
    const url = new URL(request.url ?? '', `http://127.0.0.1`)
    const query = Object.fromEntries(url.searchParams)
    response.setHeader('content-type', 'text/html')
    if (url.pathname === '/slo') return void response.end('<h1>The provider has signed you out</h1>')
    if (query.person === undefined) {
      const hidden = Object.entries(query).map(
        ([name, value]) => `<input type=hidden name="${name}" value="${value}">`,
      )
      return void response.end(
        `<form>${hidden.join('')}<input name=person><input name=group><button>Go</button></form>`,
      )
    }
    samlp.parseRequest({ method: 'GET', query, originalUrl: request.url }, {}, (_error, authnRequest) => {
      const options = {
        cert,
        key,
        issuer: 'urn:test:idp',
        signatureAlgorithm: 'rsa-sha256',
        digestAlgorithm: 'sha256',
        audience: authnRequest.issuer,
        recipient: authnRequest.assertionConsumerServiceURL,
        destination: authnRequest.assertionConsumerServiceURL,
        inResponseTo: authnRequest.id,
        profileMapper: () => ({
          getClaims: () => ({ groups: [query.group] }),
          getNameIdentifier: () => ({
            nameIdentifier: query.person,
            nameIdentifierFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
          }),
        }),
      }
      samlp.getSamlResponse(options, { id: query.person }, (_error, xml) => {
        const samlResponse = Buffer.from(xml).toString('base64')
        response.end(
          `<form method=post action="${authnRequest.assertionConsumerServiceURL}"><input type=hidden name=SAMLResponse value="${samlResponse}">` +
            `<input type=hidden name=RelayState value="${query.RelayState}"></form><script>document.forms[0].submit()</script>`,
        )
      })
    })
  })
  const singleService = (binding: string, path: string) =>
    `<${binding} Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="http://127.0.0.1:${port}/${path}"/>`
  return `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="urn:test:idp"><IDPSSODescriptor
    protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"><KeyDescriptor use="signing"><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#">
    <X509Data><X509Certificate>${cert.replace(/-----[^-]+-----|\s/g, '')}</X509Certificate></X509Data></KeyInfo></KeyDescriptor>
    ${singleService('SingleLogoutService', 'slo')}${singleService('SingleSignOnService', 'sso')}</IDPSSODescriptor></EntityDescriptor>`
}

test('SAML in a browser: be rejected, sign in, expire, sign out', async (t) => {
  const { page, url } = await protect(t, async () => ({
    saml: { idp_metadata: await startSamlProvider(t), authorized_groups: ['staff'], inactivity_timeout: 5 },
  }))
  async function signIn(person: string, group: string) {
    await page.goto(`${url}/deep/page?x=1`)
    await page.fill('input[name=person]', person)
    await page.fill('input[name=group]', group)
    await page.click('button')
    await page.locator('h1').waitFor()
  }

  await signIn('eve', 'visitors')
  await takeScreenshot(page, 'saml-refused')
  assert.match((await page.locator('h1 + p').textContent()) ?? '', /not a member of a group/)

  await signIn('ada', 'staff')
  await takeScreenshot(page, 'saml-signed-in')
  assert.equal(page.url(), `${url}/deep/page?x=1`)
  assert.equal(await page.locator('h1').textContent(), 'Hello ada')

  // The session must stay idle meanwhile, so there is no event to wait for.
  await page.waitForFunction(
    (from) => performance.now() - from > 6100,
    await page.evaluate(() => performance.now()),
  )
  await page.goto(url)
  await takeScreenshot(page, 'saml-expired')
  assert.equal(await page.locator('input[name=person]').count(), 1, 'the provider asks who it is')

  await signIn('ada', 'staff')
  await page.goto(`${url}/auth/logout`)
  await takeScreenshot(page, 'saml-signed-out')
  assert.equal(await page.locator('h1').textContent(), 'The provider has signed you out')
  await page.goto(url)
  assert.equal(await page.locator('input[name=person]').count(), 1)
})
