import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { missingPrograms } from '../support/required-programs.ts'
import {
  createUser,
  EMAIL_ATTRIBUTE,
  GROUPS_ATTRIBUTE,
  GROUPS_CLAIM,
  type Keycloak,
  ROLES_CLAIM,
  reasonWithoutKeycloak,
  startKeycloak,
} from './providers/keycloak.ts'
import { type ProtectedPages, startProtectedPages } from './providers/protected-pages.ts'
import {
  readErrorCode,
  readShownRequest,
  signIn,
  startSignInBrowser,
  waitForSignInForm,
  waitForText,
} from './providers/sign-in-in-browser.ts'

const ADA = { username: 'ada', password: 'Adas password' }
const EVE = { username: 'eve', password: 'Eves password' }

const NOT_FOR_YOU = { type: 'custom-response', config: { status_code: 403, body: 'Not for you' } }

/** A realm in which Ada is an editor and Eve is nothing. */
const createRealm = (keycloak: Keycloak) =>
  keycloak.createRealm({
    groups: [{ name: 'staff', subGroups: [{ name: 'editors' }] }],
    roles: { realm: [{ name: 'editor' }] },
    users: [
      createUser('ada', {
        password: ADA.password,
        firstName: 'Ada',
        lastName: 'Łovelace',
        groups: ['/staff/editors'],
        realmRoles: ['editor'],
      }),
      createUser('eve', { password: EVE.password, firstName: 'Eve', lastName: 'Other' }),
    ],
  })

/** A realm with an OpenID client for the platform, whose tokens have groups and roles. */
async function createOpenidClient(keycloak: Keycloak, { idpUrl }: ProtectedPages) {
  const realm = await createRealm(keycloak)
  const [clientId, secret] = ['pages', 'the secret of pages']
  await realm.createClient({
    clientId,
    secret,
    redirectUris: [`${idpUrl}/oauth2/callback`],
    // The redirect URIs, after a sign-out too.
    attributes: { 'post.logout.redirect.uris': '+' },
    protocolMappers: [GROUPS_CLAIM, ROLES_CLAIM],
  })
  return { realm, oidc: { issuer: realm.issuer, client_id: clientId, client_secret: secret } }
}

test('Keycloak', { skip: reasonWithoutKeycloak || missingPrograms('chromium-headless-shell') }, async (t) => {
  const keycloak = await startKeycloak(t)
  if (keycloak === undefined) return
  const pages = await startProtectedPages(t)
  const browser = await startSignInBrowser(t)

  await t.test('the module oidc: a member of a group opens a deep URL, signs in and out', async (t) => {
    const { oidc } = await createOpenidClient(keycloak, pages)
    const { url } = await pages.protect({ oidc: { ...oidc, authorized_groups: ['/staff/editors'] } })

    const page = await signIn(t, browser, `${url}/deep/page?x=1&y=%C5%81`, ADA)
    const shown = await readShownRequest(page)

    assert.equal(page.url(), `${url}/deep/page?x=1&y=%C5%81`)
    assert.equal(shown.url, '/deep/page?x=1&y=%C5%81')
    const { id, ...user } = shown.user
    assert.equal(id, shown.claims.sub)
    assert.deepEqual(user, { name: 'Ada Łovelace', email: 'ada@example.com', groups: '/staff/editors' })

    await page.goto(`${url}/auth/logout`)
    await waitForText(page, 'You are signed out')
    assert.equal(page.url(), `${url}/auth/logout`)
    await page.goto(url)
    await waitForSignInForm(page)
  })

  await t.test('the module oidc: who is signed out at the provider is signed out of the page', async (t) => {
    const { realm, oidc } = await createOpenidClient(keycloak, pages)
    const { url, route } = await pages.protect({ oidc })
    await realm.changeClient(oidc.client_id, {
      attributes: {
        'backchannel.logout.url': `${pages.plainIdpUrl}/oidc/backchannel-logout/${route.id}`,
        'backchannel.logout.session.required': 'true',
      },
    })
    const page = await signIn(t, browser, url, ADA)
    await readShownRequest(page)

    const [ada] = (await realm.call('GET', `/users?username=${ADA.username}`)) as { id: string }[]
    await realm.call('POST', `/users/${ada!.id}/logout`)

    await eventually(async () => {
      await page.goto(url)
      return !page.url().startsWith(url)
    }, 'the page asks for a sign-in')
    await waitForSignInForm(page)
  })

  await t.test('the module oidc: a person in no allowed group is denied', async (t) => {
    const { oidc } = await createOpenidClient(keycloak, pages)
    const { url } = await pages.protect({ oidc: { ...oidc, authorized_groups: ['/staff/editors'] } })

    const page = await signIn(t, browser, url, EVE)

    assert.equal(await readErrorCode(page), 'ERR_ADIT_3207')
  })

  await t.test('the module oidc: roles in a nested claim decide who is admitted', async (t) => {
    const { oidc } = await createOpenidClient(keycloak, pages)
    const { url } = await pages.protect({
      oidc: { ...oidc, authorized_claims: ['realm_access.roles=editor'] },
    })

    const editor = await signIn(t, browser, url, ADA)
    const other = await signIn(t, browser, url, EVE)

    assert.equal((await readShownRequest(editor)).user.email, 'ada@example.com')
    assert.equal(await readErrorCode(other), 'ERR_ADIT_3207')
  })

  await t.test('the action openid-connect: later rules decide by the identity', async (t) => {
    const { oidc } = await createOpenidClient(keycloak, pages)
    const config = { issuer_url: oidc.issuer, client_id: oidc.client_id, client_secret: oidc.client_secret }
    const identity = 'actions.ngrok.oidc.identity'
    const { url } = await pages.protectByPolicy([
      { actions: [{ type: 'openid-connect', config }] },
      { expressions: [`${identity}.email == 'eve@example.com'`], actions: [NOT_FOR_YOU] },
      { actions: [{ type: 'add-headers', config: { headers: { 'x-name': `\${${identity}.name}` } } }] },
    ])

    const page = await signIn(t, browser, `${url}/deep/page?x=1`, ADA)
    const other = await signIn(t, browser, url, EVE)
    const shown = await readShownRequest(page)

    assert.equal(page.url(), `${url}/deep/page?x=1`)
    assert.equal(shown.headers['x-name'], 'Ada Łovelace')
    assert.equal(shown.user.groups, '/staff/editors')
    await waitForText(other, 'Not for you')

    await page.goto(`${url}/auth/logout`)
    await waitForText(page, 'You are signed out')
    assert.equal(page.url(), `${url}/auth/logout`)
    await page.goto(url)
    await waitForSignInForm(page)
  })

  await t.test('the module saml: a member of a group opens a deep URL and signs in', async (t) => {
    const realm = await createRealm(keycloak)
    const { url, route } = await pages.protect({
      saml: {
        idp_metadata_url: realm.samlMetadataUrl,
        authorized_groups: ['editors'],
        // Without it, roles count too.
        groups_attribute: 'groups',
      },
    })
    await realm.importSamlClient(await pages.read(route.saml.metadata_url), {
      protocolMappers: [GROUPS_ATTRIBUTE, EMAIL_ATTRIBUTE],
    })

    const page = await signIn(t, browser, `${url}/deep/page?x=1`, ADA)
    const other = await signIn(t, browser, url, EVE)
    const { id, ...user } = (await readShownRequest(page)).user

    assert.equal(page.url(), `${url}/deep/page?x=1`)
    assert.match(id ?? '', /^G-/)
    assert.deepEqual(user, { name: '', email: 'ada@example.com', groups: 'editors' })
    assert.equal(await readErrorCode(other), 'ERR_ADIT_3207')
  })

  await t.test(
    'the module saml: roles, each in an attribute of its own, decide who is admitted',
    async (t) => {
      const realm = await createRealm(keycloak)
      const { url, route } = await pages.protect({
        saml: { idp_metadata_url: realm.samlMetadataUrl, authorized_groups: ['editor'] },
      })
      await realm.importSamlClient(await pages.read(route.saml.metadata_url))

      const page = await signIn(t, browser, url, ADA)
      const other = await signIn(t, browser, url, EVE)

      assert.ok((await readShownRequest(page)).user.groups?.split(',').includes('editor'))
      assert.equal(await readErrorCode(other), 'ERR_ADIT_3207')
    },
  )

  await t.test('the module saml: a sign-out on one page ends the sessions of all', async (t) => {
    const realm = await createRealm(keycloak)
    const protect = async () => {
      const page = await pages.protect({ saml: { idp_metadata_url: realm.samlMetadataUrl } })
      await realm.importSamlClient(await pages.read(page.route.saml.metadata_url))
      return page.url
    }
    const [first, second] = [await protect(), await protect()]
    const page = await signIn(t, browser, first, ADA)
    await readShownRequest(page)
    await page.goto(second)
    await readShownRequest(page)

    await page.goto(`${first}/auth/logout`)
    await waitForText(page, 'You are signed out')

    for (const url of [first, second]) {
      await page.goto(url)
      await waitForSignInForm(page)
    }
  })

  await t.test('the action saml: later rules decide by the groups', async (t) => {
    const realm = await createRealm(keycloak)
    const { url, route } = await pages.protectByPolicy([
      {
        actions: [
          {
            type: 'saml',
            config: {
              idp_metadata: realm.samlMetadataUrl,
              groups_attribute: 'groups',
              // Keycloak expects it of new clients.
              sign_requests: true,
            },
          },
        ],
      },
      { expressions: ["!('editors' in actions.ngrok.saml.identity.groups)"], actions: [NOT_FOR_YOU] },
    ])
    const metadata = await pages.read(`${pages.idpUrl}/saml/${route.id}`)
    await realm.importSamlClient(metadata, {
      protocolMappers: [GROUPS_ATTRIBUTE],
    })

    const page = await signIn(t, browser, `${url}/deep/page?x=1`, ADA)
    const other = await signIn(t, browser, url, EVE)

    assert.equal((await readShownRequest(page)).user.groups, 'editors')
    assert.equal(page.url(), `${url}/deep/page?x=1`)
    await waitForText(other, 'Not for you')

    await page.goto(`${url}/auth/logout`)
    await waitForText(page, 'You are signed out')
    await page.goto(url)
    await waitForSignInForm(page)
  })
})
