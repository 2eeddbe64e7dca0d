import assert from 'node:assert/strict'
import { test } from 'node:test'
import { missingPrograms } from '../support/required-programs.ts'
import { type ProtectedPages, startProtectedPages } from './providers/protected-pages.ts'
import {
  readErrorCode,
  readShownRequest,
  signIn,
  startSignInBrowser,
  waitForSignInForm,
  waitForText,
} from './providers/sign-in-in-browser.ts'
import {
  reasonWithoutSimpleSamlPhp,
  type SimpleSamlPhp,
  startSimpleSamlPhp,
} from './providers/simplesamlphp.ts'

const ADA = { username: 'ada', password: 'Adas password' }
const EVE = { username: 'eve', password: 'Eves password' }
const PEOPLE = {
  [`${ADA.username}:${ADA.password}`]: {
    uid: ['ada'],
    mail: ['ada@example.com'],
    displayName: ['Ada Łovelace'],
    groups: ['staff', 'editors'],
  },
  [`${EVE.username}:${EVE.password}`]: { uid: ['eve'], mail: ['eve@example.com'], groups: ['guests'] },
}
const NAME_ID = { class: 'saml:PersistentNameID', attribute: 'uid' }
/** Names attributes by OIDs, as federations of universities do. */
const NAME_TO_OID = { class: 'core:AttributeMap', 0: 'name2oid' }

/** Creates a route whose module signs visitors in at the provider, and registers it there. */
async function protect(pages: ProtectedPages, idp: SimpleSamlPhp, settings: object = {}): Promise<string> {
  const { url, route } = await pages.protect({ saml: { idp_metadata_url: idp.metadataUrl, ...settings } })
  idp.trust(await pages.read(route.saml.metadata_url))
  return url
}

test('SimpleSAMLphp', {
  skip: reasonWithoutSimpleSamlPhp || missingPrograms('chromium-headless-shell'),
}, async (t) => {
  const pages = await startProtectedPages(t)
  const browser = await startSignInBrowser(t)

  await t.test('the module saml: a member of a group opens a deep URL and signs in', async (t) => {
    const idp = await startSimpleSamlPhp(t, PEOPLE, { filters: [NAME_ID] })
    const url = await protect(pages, idp, { authorized_groups: ['editors'] })

    const page = await signIn(t, browser, `${url}/deep/page?x=1`, ADA)
    const other = await signIn(t, browser, url, EVE)
    const { id, ...user } = (await readShownRequest(page)).user

    assert.equal(page.url(), `${url}/deep/page?x=1`)
    assert.match(id ?? '', /^[0-9a-f]{40}$/)
    assert.deepEqual(user, { name: 'Ada Łovelace', email: 'ada@example.com', groups: 'staff,editors' })
    assert.equal(await readErrorCode(other), 'ERR_ADIT_3207')
  })

  await t.test(
    'the module saml: an address is read from an attribute that is named by its OID',
    async (t) => {
      const idp = await startSimpleSamlPhp(t, PEOPLE, { filters: [NAME_ID, NAME_TO_OID] })
      const url = await protect(pages, idp)

      const page = await signIn(t, browser, url, ADA)

      assert.equal((await readShownRequest(page)).user.email, 'ada@example.com')
    },
  )

  await t.test('the module saml: a sign-out on one page ends the sessions of all', async (t) => {
    const idp = await startSimpleSamlPhp(t, PEOPLE, { filters: [NAME_ID] })
    // By default it does not sign messages of a sign-out.
    idp.change({ 'sign.logout': true })
    const [first, second] = [await protect(pages, idp), await protect(pages, idp)]
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
    const idp = await startSimpleSamlPhp(t, PEOPLE, { filters: [NAME_ID] })
    const { url, route } = await pages.protectByPolicy([
      { actions: [{ type: 'saml', config: { idp_metadata: idp.metadataUrl } }] },
      {
        expressions: ["!('editors' in actions.ngrok.saml.identity.groups)"],
        actions: [{ type: 'custom-response', config: { status_code: 403, body: 'Not for you' } }],
      },
    ])
    idp.trust(await pages.read(`${pages.idpUrl}/saml/${route.id}`))

    const page = await signIn(t, browser, `${url}/deep/page?x=1`, ADA)
    const other = await signIn(t, browser, url, EVE)

    assert.equal((await readShownRequest(page)).user.name, 'Ada Łovelace')
    assert.equal(page.url(), `${url}/deep/page?x=1`)
    await waitForText(other, 'Not for you')
  })
})
