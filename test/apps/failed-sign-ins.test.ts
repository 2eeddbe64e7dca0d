import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { existsSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { createSelfSigned } from '../../src/certs/index.ts'
import { missingPrograms } from '../support/required-programs.ts'
import { createPassword, DEX_PASSWORD, installDex, reasonWithoutDex } from './providers/dex.ts'
import {
  createUser,
  type Keycloak,
  type KeycloakRealm,
  type Representation,
  reasonWithoutKeycloak,
  startKeycloak,
} from './providers/keycloak.ts'
import { type ProtectedPages, startProtectedPages } from './providers/protected-pages.ts'
import {
  openAsStranger,
  readErrorCode,
  readShownRequest,
  signIn,
  startSignInBrowser,
  submitCredentials,
  waitForSignInForm,
} from './providers/sign-in-in-browser.ts'
import {
  reasonWithoutSimpleSamlPhp,
  type SimpleSamlPhp,
  startSimpleSamlPhp,
} from './providers/simplesamlphp.ts'

/*
 * Providers and routes that do not fit together, as people set them up by mistake: what the visitor sees, what the owner is
 * told, and what the log says.
 */

const ADA = { username: 'ada', password: 'Adas password' }
const DEX_ADA = { username: 'ada@example.com', password: DEX_PASSWORD }
const CLIENT_ID = 'pages'
const SECRET = 'the secret of pages'
const MISCONFIGURED = 'ERR_ADIT_3223'

/** What is expected of one mistake. */
interface Expected {
  /** The code of the page that the visitor gets. */
  readonly code: string
  readonly failure: string
  /** What the provider or the library said, as the owner reads it. */
  readonly words: RegExp
  /** Whether the provider asks who the visitor is before it fails. */
  readonly asksFirst?: boolean
}

/** Opens the page, signs in where the provider asks, and compares what visitor, owner and log get. */
async function assertFailure(
  t: TestContext,
  { pages, browser }: { pages: ProtectedPages; browser: Awaited<ReturnType<typeof startSignInBrowser>> },
  url: string,
  { code, failure, words, asksFirst = true }: Expected,
  person = ADA,
): Promise<void> {
  const page = asksFirst ? await signIn(t, browser, url, person) : await openAsStranger(t, browser, url)

  assert.equal(await readErrorCode(page), code)
  const failed = await pages.waitForFailure(url)
  const said = [failed.error ?? '', failed.error_description ?? '', failed.reason ?? ''].filter(Boolean)
  assert.equal(failed.failure, failure, said.join(' '))
  assert.match(said.join(' '), words)
  const shown = await readText(page)
  for (const text of said) assert.ok(!shown.includes(text), `the visitor reads: ${text}`)
  const logged = pages.failureLog().filter((line) => line.includes(url))
  assert.equal(logged.length, 1)
  assert.ok(logged[0]!.includes(failure), logged.join())
}

const readText = async (page: Page): Promise<string> => (await page.locator('body').textContent()) ?? ''

/** Keycloak asks people without a name for one. */
const createPerson = (username: string, password: string) =>
  createUser(username, { password, firstName: username, lastName: 'Test' })

const createRealm = (keycloak: Keycloak) =>
  keycloak.createRealm({ users: [createPerson('ada', ADA.password)] })

/** A key with which a client lets its provider encrypt, as a JSON Web Key Set. */
function createKeySet(): string {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return JSON.stringify({
    keys: [{ ...publicKey.export({ format: 'jwk' }), use: 'enc', alg: 'RSA-OAEP', kid: 'test' }],
  })
}

interface OpenidMistake extends Expected {
  /** Settings of the module that are wrong. */
  readonly oidc?: (issuer: string) => object
  /** What is unusual about the client at the provider. */
  readonly client?: Representation
}

const openidMistakes: Record<string, OpenidMistake> = {
  'the client secret is wrong': {
    oidc: () => ({ client_secret: 'wrong' }),
    code: MISCONFIGURED,
    failure: 'client_rejected',
    words: /unauthorized_client/,
  },
  'a scope is unknown': {
    oidc: () => ({ scopes: ['profile', 'groups-of-people'] }),
    code: MISCONFIGURED,
    failure: 'scope_rejected',
    words: /invalid_scope/,
    asksFirst: false,
  },
  'the issuer has a slash too many': {
    oidc: (issuer) => ({ issuer: `${issuer}/` }),
    code: MISCONFIGURED,
    failure: 'issuer_mismatch',
    words: /issuer/,
    asksFirst: false,
  },
  'ID tokens are signed with HS256': {
    client: { attributes: { 'id.token.signed.response.alg': 'HS256' } },
    code: MISCONFIGURED,
    failure: 'algorithm_unsupported',
    words: /alg/,
  },
  'pushed authorization requests are required': {
    client: { attributes: { 'require.pushed.authorization.requests': 'true' } },
    code: MISCONFIGURED,
    failure: 'request_rejected',
    words: /invalid_request/,
    asksFirst: false,
  },
  'ID tokens are encrypted': {
    client: {
      attributes: {
        'id.token.encrypted.response.alg': 'RSA-OAEP',
        'id.token.encrypted.response.enc': 'A256GCM',
        'use.jwks.string': 'true',
        'jwks.string': createKeySet(),
      },
    },
    code: MISCONFIGURED,
    failure: 'token_encrypted',
    words: /JWE/,
  },
}

interface SamlMistake extends Expected {
  /** Changes the client that was imported from the metadata of the route. */
  readonly client?: (realm: KeycloakRealm) => Promise<Representation>
  /** Once the route has the metadata of the provider. */
  readonly later?: (realm: KeycloakRealm) => Promise<void>
}

const attributes = (changes: Readonly<Record<string, string>>) => async () => ({ attributes: changes })

const samlMistakes: Record<string, SamlMistake> = {
  'neither response nor assertion is signed': {
    client: attributes({ 'saml.server.signature': 'false', 'saml.assertion.signature': 'false' }),
    code: MISCONFIGURED,
    failure: 'assertion_unsigned',
    words: /not signed/,
  },
  'responses are signed with SHA-1': {
    client: attributes({ 'saml.signature.algorithm': 'RSA_SHA1' }),
    code: MISCONFIGURED,
    failure: 'signature_weak',
    words: /sha1/,
  },
  'assertions are encrypted': {
    client: async () => {
      const { certificatePem } = await createSelfSigned({ commonName: 'pages' })
      const certificate = certificatePem.replace(/-----[^-]+-----|\s/g, '')
      return { attributes: { 'saml.encrypt': 'true', 'saml.encryption.certificate': certificate } }
    },
    code: MISCONFIGURED,
    failure: 'assertion_encrypted',
    words: /encrypted/i,
  },
  'the provider has a new key, and the route its old metadata': {
    later: async (realm) => {
      await realm.call('POST', '/components', {
        ...{ name: 'new', providerId: 'rsa-generated', providerType: 'org.keycloak.keys.KeyProvider' },
        config: { priority: ['500'], enabled: ['true'], active: ['true'], keySize: ['2048'] },
      })
    },
    code: MISCONFIGURED,
    failure: 'signature_mismatch',
    words: /signature/i,
  },
}

test('mistakes at Keycloak', {
  skip: reasonWithoutKeycloak || missingPrograms('chromium-headless-shell'),
}, async (t) => {
  const keycloak = await startKeycloak(t)
  if (keycloak === undefined) return
  const pages = await startProtectedPages(t)
  const browser = await startSignInBrowser(t)
  const at = { pages, browser }

  for (const [title, { oidc = () => ({}), client = {}, ...expected }] of Object.entries(openidMistakes))
    await t.test(`OpenID Connect: ${title}`, async (t) => {
      const realm = await createRealm(keycloak)
      const settings = { client_id: CLIENT_ID, ...oidc(realm.issuer) } as { client_id: string }
      await realm.createClient({
        clientId: CLIENT_ID,
        secret: SECRET,
        redirectUris: [`${pages.idpUrl}/oauth2/callback`],
        ...client,
      })
      const { url } = await pages.protect({
        oidc: { issuer: realm.issuer, client_secret: SECRET, ...settings },
      })

      await assertFailure(t, at, url, expected)
    })

  for (const [title, { client = async () => ({}), later, ...expected }] of Object.entries(samlMistakes))
    await t.test(`SAML: ${title}`, async (t) => {
      const realm = await createRealm(keycloak)
      const { url, route } = await pages.protect({
        saml: { idp_metadata: await pages.read(realm.samlMetadataUrl) },
      })
      await realm.importSamlClient(await pages.read(route.saml.metadata_url), await client(realm))
      await later?.(realm)

      await assertFailure(t, at, url, expected)
    })

  await t.test('a person switches to another account', async (t) => {
    const realm = await keycloak.createRealm({
      users: [createPerson('ada', ADA.password), createPerson('eve', 'Eves password')],
    })
    await realm.createClient({
      clientId: CLIENT_ID,
      secret: SECRET,
      redirectUris: [`${pages.idpUrl}/oauth2/callback`],
    })
    const { url } = await pages.protect({
      oidc: {
        ...{ issuer: realm.issuer, client_id: CLIENT_ID, client_secret: SECRET },
        email_addresses: ['eve@example.com'],
      },
    })

    const page = await signIn(t, browser, `${url}/deep?x=1`, ADA)
    assert.equal(await readErrorCode(page), 'ERR_ADIT_3207')
    await page.getByRole('link', { name: 'Use another account' }).click()
    await waitForSignInForm(page)
    // Keycloak asks for the password of the same person, and offers another one.
    const restart = page.locator('#reset-login')
    if ((await restart.count()) > 0) await restart.click()
    await submitCredentials(page, { username: 'eve', password: 'Eves password' })

    assert.equal((await readShownRequest(page)).user.email, 'eve@example.com')
  })
})

test('mistakes at Dex', {
  skip: reasonWithoutDex || missingPrograms('chromium-headless-shell'),
}, async (t) => {
  const startDex = await installDex(t)
  if (startDex === undefined) return
  const pages = await startProtectedPages(t)
  const browser = await startSignInBrowser(t)
  const mistakes: Record<string, Expected & { readonly oidc: (issuer: string) => object }> = {
    'the client secret is wrong': {
      oidc: () => ({ client_secret: 'wrong' }),
      code: MISCONFIGURED,
      failure: 'client_rejected',
      words: /invalid_client/,
    },
    'the issuer has a slash too many': {
      oidc: (issuer) => ({ issuer: `${issuer}/` }),
      code: MISCONFIGURED,
      failure: 'issuer_mismatch',
      words: /issuer/,
      asksFirst: false,
    },
    'the issuer lacks its path': {
      oidc: (issuer) => ({ issuer: new URL(issuer).origin }),
      code: MISCONFIGURED,
      failure: 'discovery_failed',
      words: /404|status/,
      asksFirst: false,
    },
  }
  for (const [title, { oidc, ...expected }] of Object.entries(mistakes))
    await t.test(title, async (t) => {
      const { issuer } = await startDex(t, (issuer) => ({
        staticClients: [
          {
            ...{ id: CLIENT_ID, secret: SECRET, name: 'Pages' },
            redirectURIs: [
              `${pages.idpUrl}/oauth2/callback`,
              `${pages.idpUrl}/oidc/callback/${issuer.replace('http://', '')}`,
            ],
          },
        ],
        staticPasswords: [createPassword(DEX_ADA.username, { emailVerified: true })],
        oauth2: { skipApprovalScreen: true },
      }))
      const { url } = await pages.protect({
        oidc: { issuer, client_id: CLIENT_ID, client_secret: SECRET, ...oidc(issuer) },
      })

      await assertFailure(t, { pages, browser }, url, expected, DEX_ADA)
    })
})

/** Changes the clock of a program. */
const FAKE_CLOCK = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1'
const reasonWithoutFakeClock = existsSync(FAKE_CLOCK) ? false : 'needs faketime: apt-get install -y faketime'

interface PhpMistake extends Expected {
  readonly change: (idp: SimpleSamlPhp) => void | Promise<void>
}

test('mistakes at SimpleSAMLphp', {
  skip: reasonWithoutSimpleSamlPhp || missingPrograms('chromium-headless-shell'),
}, async (t) => {
  const pages = await startProtectedPages(t)
  const browser = await startSignInBrowser(t)
  const people = { [`${ADA.username}:${ADA.password}`]: { uid: ['ada'] } }
  const filters = [{ class: 'saml:PersistentNameID', attribute: 'uid' }]

  const mistakes: Record<string, PhpMistake> = {
    'responses are signed with SHA-1': {
      change: (idp) => idp.change({ 'signature.algorithm': 'http://www.w3.org/2000/09/xmldsig#rsa-sha1' }),
      code: MISCONFIGURED,
      failure: 'signature_weak',
      words: /sha1/,
    },
    'the provider has a new key, and the route its old metadata': {
      change: (idp) => idp.replaceKey(),
      code: MISCONFIGURED,
      failure: 'signature_mismatch',
      words: /signature/i,
    },
  }
  for (const [title, { change, ...expected }] of Object.entries(mistakes))
    await t.test(title, async (t) => {
      const idp = await startSimpleSamlPhp(t, people, { filters })
      const { url, route } = await pages.protect({
        saml: { idp_metadata: await pages.read(idp.metadataUrl) },
      })
      idp.trust(await pages.read(route.saml.metadata_url))
      await change(idp)

      await assertFailure(t, { pages, browser }, url, expected)
    })

  await t.test('its clock is two minutes ahead', { skip: reasonWithoutFakeClock }, async (t) => {
    const idp = await startSimpleSamlPhp(t, people, {
      filters,
      env: { LD_PRELOAD: FAKE_CLOCK, FAKETIME: '+120s', FAKETIME_DONT_FAKE_MONOTONIC: '1' },
    })
    const { url, route } = await pages.protect({ saml: { idp_metadata: await pages.read(idp.metadataUrl) } })
    idp.trust(await pages.read(route.saml.metadata_url))

    await assertFailure(t, { pages, browser }, url, {
      code: MISCONFIGURED,
      failure: 'clock_wrong',
      words: /issued|valid/,
    })
  })
})
