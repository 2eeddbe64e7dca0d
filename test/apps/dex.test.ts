import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { missingPrograms } from '../support/required-programs.ts'
import {
  createPassword,
  DEX_PASSWORD,
  type DexConfig,
  installDex,
  reasonWithoutDex,
} from './providers/dex.ts'
import { type ProtectedPages, startProtectedPages } from './providers/protected-pages.ts'
import {
  readErrorCode,
  readShownRequest,
  signIn,
  startSignInBrowser,
  submitCredentials,
  waitForText,
} from './providers/sign-in-in-browser.ts'

const ADA = { username: 'ada@example.com', password: DEX_PASSWORD }
const EVE = { username: 'eve@example.com', password: DEX_PASSWORD }
const CLIENT = { id: 'pages', secret: 'the secret of pages' }

/** Dex with a client for the platform, of which Dex requires a redirect URI of its own; Ada is a member of the staff. */
const configure =
  ({ idpUrl }: ProtectedPages, more: DexConfig = {}) =>
  (issuer: string): DexConfig => ({
    staticClients: [
      {
        ...CLIENT,
        name: 'Pages',
        redirectURIs: [`${idpUrl}/oidc/callback/${issuer.replace('http://', '')}`],
      },
    ],
    staticPasswords: [
      createPassword(ADA.username, { name: 'Ada Łovelace', emailVerified: true, groups: ['staff'] }),
      createPassword(EVE.username, { name: 'Eve Other', emailVerified: true }),
    ],
    oauth2: { skipApprovalScreen: true },
    ...more,
  })

const createModule = (issuer: string) => ({ issuer, client_id: CLIENT.id, client_secret: CLIENT.secret })

test('Dex', { skip: reasonWithoutDex || missingPrograms('chromium-headless-shell') }, async (t) => {
  const startDex = await installDex(t)
  if (startDex === undefined) return
  const pages = await startProtectedPages(t)
  const browser = await startSignInBrowser(t)

  await t.test(
    'the module oidc: a visitor opens a deep URL, signs in with a password and grants access',
    async (t) => {
      const dex = await startDex(t, configure(pages, { oauth2: {} }))
      const { url } = await pages.protect({ oidc: createModule(dex.issuer) })

      const page = await signIn(t, browser, `${url}/deep/page?x=1`, ADA)
      await page.getByRole('button', { name: 'Grant Access' }).click()
      const shown = await readShownRequest(page)

      assert.equal(page.url(), `${url}/deep/page?x=1`)
      const { id, ...user } = shown.user
      assert.equal(id, shown.claims.sub)
      assert.deepEqual(user, { name: 'Ada Łovelace', email: 'ada@example.com' })
    },
  )

  await t.test('the module oidc: groups decide who is admitted', async (t) => {
    const dex = await startDex(t, configure(pages))
    const oidc = {
      ...createModule(dex.issuer),
      scopes: ['profile', 'email', 'groups'],
      authorized_groups: ['staff'],
    }
    const { url } = await pages.protect({ oidc })

    const member = await signIn(t, browser, url, ADA)
    const other = await signIn(t, browser, url, EVE)

    assert.equal((await readShownRequest(member)).user.groups, 'staff')
    assert.equal(await readErrorCode(other), 'ERR_ADIT_3207')
  })

  await t.test('the module oidc: a sign-out is followed by another sign-in', async (t) => {
    const dex = await startDex(t, configure(pages))
    const { url } = await pages.protect({ oidc: createModule(dex.issuer) })
    const page = await signIn(t, browser, url, ADA)
    await readShownRequest(page)

    // Dex has no sign-out of its own, and no session either.
    await page.goto(`${url}/auth/logout`)
    await waitForText(page, 'You are signed out')
    await page.goto(url)
    await submitCredentials(page, EVE)

    assert.equal((await readShownRequest(page)).user.email, EVE.username)
  })

  await t.test('the module oidc: visitors sign in after a restart with new keys', async (t) => {
    const dex = await startDex(t, configure(pages))
    const { url } = await pages.protect({ oidc: createModule(dex.issuer) })
    await readShownRequest(await signIn(t, browser, url, ADA))

    await dex.restart()
    const page = await signIn(t, browser, url, EVE)

    assert.equal((await readShownRequest(page)).user.email, EVE.username)
  })

  await t.test(
    'the action openid-connect: with offline_access the identity is confirmed by UserInfo',
    async (t) => {
      const dex = await startDex(t, configure(pages))
      const { client_id, client_secret } = createModule(dex.issuer)
      const config = {
        ...{ issuer_url: dex.issuer, client_id, client_secret },
        scopes: ['profile', 'email', 'offline_access'],
        userinfo_refresh_interval: '1s',
      }
      const result = 'actions.ngrok.oidc'
      const shown = {
        'x-tokens': `\${${result}.refresh_token.size() > 0 && ${result}.access_token.size() > 0}`,
        'x-confirmed': `\${${result}.userinfo_refreshed}`,
      }
      const { url } = await pages.protectByPolicy([
        { actions: [{ type: 'openid-connect', config }] },
        { actions: [{ type: 'add-headers', config: { headers: shown } }] },
      ])

      const page = await signIn(t, browser, url, ADA)
      const { headers } = await readShownRequest(page)

      assert.deepEqual([headers['x-tokens'], headers['x-confirmed']], ['true', 'false'])
      const confirmed = await eventually(async () => {
        await page.goto(url)
        const request = await readShownRequest(page)
        return request.headers['x-confirmed'] === 'true' && request
      }, 'the identity is confirmed')
      assert.equal(confirmed.user.email, 'ada@example.com')
      assert.equal(confirmed.headers['x-tokens'], 'true')
    },
  )
})
