import { readFile } from 'node:fs/promises'
import type { TestContext } from 'node:test'
import { inflateRawSync } from 'node:zlib'
import { SAML } from '@node-saml/node-saml'
import { signXml } from '@node-saml/node-saml/lib/xml.js'
import samlp from 'samlp'
import { Agent, fetch } from 'undici'
import { createSelfSigned } from '../../src/certs/index.ts'
import { createClient } from '../support/api.ts'
import { CookieClient } from '../support/browser-client.ts'
import { eventuallyStatus, startPlatform, type TestPlatform } from '../support/platform.ts'
import { type ProcessOptions, startServerProcess } from '../support/server-process.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { createAppRoute, startHeaderEcho } from './protected-route.ts'

const PERSISTENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent'

/** The parts of a provider response that differ from a valid one. */
export interface ResponseOverrides {
  cert?: string
  key?: string
  audience?: string
  recipient?: string
  inResponseTo?: string | undefined
  signAssertion?: boolean
  signatureAlgorithm?: string
  lifetimeInSeconds?: number
  groups?: string[]
  /** Encrypts the assertion for this certificate. */
  encryptionCert?: string
  encryptionPublicKey?: string
}

/** Formats the metadata of an identity provider with the PEM certificates of its keys. */
export function idpMetadata({
  signing,
  encryption = [],
}: {
  signing: readonly string[]
  encryption?: readonly string[]
}): string {
  const descriptor = (use: string) => (pem: string) =>
    `<KeyDescriptor use="${use}"><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data>
    <X509Certificate>${pem.replace(/-----[^-]+-----|\s/g, '')}</X509Certificate></X509Data></KeyInfo></KeyDescriptor>`
  const keys = [...signing.map(descriptor('signing')), ...encryption.map(descriptor('encryption'))]
  return `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="urn:test:idp"><IDPSSODescriptor
    protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">${keys.join('')}
    <SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://idp.example/sso"/>
    <SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://idp.example/slo"/></IDPSSODescriptor></EntityDescriptor>`
}

/** Creates a real identity provider that returns one response at a time, so that a test can tamper with it. */
async function createIdp() {
  const { certificatePem, privateKeyPem } = await createSelfSigned({ commonName: 'idp.example' })
  const pem = { cert: certificatePem, key: privateKeyPem.reveal() }
  const metadata = idpMetadata({ signing: [pem.cert] })

  async function request(url: string) {
    const query = Object.fromEntries(new URL(url).searchParams)
    return new Promise<{
      id: string
      issuer: string
      assertionConsumerServiceURL: string
      relayState: string
    }>((resolve, reject) => {
      samlp.parseRequest({ method: 'GET', query, originalUrl: url }, {}, (error, data) => {
        if (error) reject(error)
        else
          resolve({
            ...data,
            assertionConsumerServiceURL: data.assertionConsumerServiceURL ?? '',
            relayState: query.RelayState ?? '',
          })
      })
    })
  }

  async function respond(entityId: string, acs: string, overrides: ResponseOverrides = {}): Promise<string> {
    const options = {
      ...pem,
      issuer: 'urn:test:idp',
      signatureAlgorithm: 'rsa-sha256',
      digestAlgorithm: 'sha256',
      audience: entityId,
      recipient: acs,
      destination: acs,
      nameIdentifierFormat: PERSISTENT,
      profileMapper: () => ({
        getClaims: () => ({ email: 'ada@example.com', groups: overrides.groups ?? ['staff'] }),
        getNameIdentifier: () => ({ nameIdentifier: 'ada-id', nameIdentifierFormat: PERSISTENT }),
      }),
      ...overrides,
    }
    return new Promise((resolve, reject) => {
      samlp.getSamlResponse(options, { id: 'ada' }, (error, xml) => (error ? reject(error) : resolve(xml)))
    })
  }

  /** Returns the URL of a signed logout request of the provider. */
  function signOut(url: string, nameID: string, { key = pem.key } = {}): Promise<string> {
    const saml = new SAML({
      callbackUrl: 'https://idp.example/sso',
      entryPoint: url,
      logoutUrl: url,
      issuer: 'urn:test:idp',
      idpCert: pem.cert,
      privateKey: key,
      signatureAlgorithm: 'sha256',
    })
    const profile = { issuer: 'urn:test:idp', nameID, nameIDFormat: PERSISTENT }
    return saml.getLogoutUrlAsync(profile, 'some-state', {})
  }

  /** Returns the logout request for the POST binding, with an enveloped signature. */
  async function signOutForm(url: string, nameID: string): Promise<string> {
    const query = new URL(await signOut(url, nameID)).searchParams
    const xml = inflateRawSync(Buffer.from(query.get('SAMLRequest') ?? '', 'base64')).toString()
    const location = { reference: "/*/*[local-name()='Issuer']", action: 'after' as const }
    return signXml(xml, "/*[local-name()='LogoutRequest']", location, {
      privateKey: pem.key,
      signatureAlgorithm: 'sha256',
      digestAlgorithm: 'sha256',
    })
  }

  return { key: pem.key, metadata, request, respond, signOut, signOutForm }
}

/** Starts a platform with a route that SAML protects, and a browser for it. */
export async function startSamlRoute(
  t: TestContext,
  settings: Record<string, unknown> = {},
  flags: string[] = [],
) {
  return protect(t, await startPlatform(t, ['--outbound-allow', '127.0.0.1', ...flags]), settings)
}

/** The same on a server in its own process. */
export async function startSamlProcess(t: TestContext, flags: string[] = [], options: ProcessOptions = {}) {
  const allFlags = ['--outbound-allow', '127.0.0.1', ...flags]
  const server = await startServerProcess(t, createTempDir(), allFlags, options)
  const { credentials } = server
  const dispatcher = new Agent({
    connect: {
      ca: await readFile(credentials.ca_file, 'utf8'),
      lookup: (_host, _options, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]),
    },
  })
  t.after(() => dispatcher.destroy())
  const platform = {
    credentials,
    call: createClient(server.url, server.apiKey),
    fetch: ((url, init = {}) => fetch(url, { ...init, dispatcher })) satisfies TestPlatform['fetch'],
  }
  return { server, ...(await protect(t, platform, {})) }
}

async function protect<P extends Pick<TestPlatform, 'call' | 'fetch' | 'credentials'>>(
  t: TestContext,
  platform: P,
  settings: Record<string, unknown>,
) {
  const idp = await createIdp()
  const { edge, route } = await createAppRoute(platform, await startHeaderEcho(t), {
    saml: { idp_metadata: idp.metadata, ...settings },
  })
  const url = `https://app.adit.localhost:${new URL(platform.credentials.https_url).port}`
  const browser = new CookieClient(platform)
  await eventuallyStatus(platform, url, 302)

  /** Begins a sign-in at the page and posts the provider's response, with the given overrides. */
  async function attempt(
    overrides: ResponseOverrides = {},
    tamper: (xml: string) => string = (xml) => xml,
    client = browser,
  ) {
    const redirectResponse = await client.once(`${url}/page`)
    const authnRequest = await idp.request(redirectResponse.headers.get('location') ?? '')
    const xml = await idp.respond(authnRequest.issuer, authnRequest.assertionConsumerServiceURL, {
      inResponseTo: authnRequest.id,
      ...overrides,
    })
    return post(tamper(xml), authnRequest.relayState, client)
  }

  async function post(xml: string, relayState: string, client = browser) {
    const response = await client.once(route.saml.assertion_consumer_service_url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({
        SAMLResponse: Buffer.from(xml).toString('base64'),
        RelayState: relayState,
      }).toString(),
    })
    await response.text()
    const next = response.headers.get('location')
    return next === null ? { status: response.status, text: '' } : client.get(next)
  }

  /** Signs in with a valid response in another browser. */
  const signIn = (client: CookieClient) => attempt({}, undefined, client)

  return { platform, url, edge, route, browser, idp, saml: route.saml, attempt, post, signIn }
}
