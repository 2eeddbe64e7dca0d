import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createProtectedRoute, signIn } from '../login/openid-provider.ts'
import { CookieClient } from '../support/browser-client.ts'
import { eventuallyEqual } from '../support/eventually.ts'
import { startDashboard, type TestDashboard } from './dashboard.ts'
import { assertAccessibleEverywhere, assertText, readText } from './inspected.ts'

let dashboard: TestDashboard
before(async () => {
  dashboard = await startDashboard(['--outbound-allow', '127.0.0.1'])
})
after(() => dashboard.stop())

test('a vault lists its secrets; new ones there ask for no vault, those elsewhere ask once', async (t) => {
  const { call } = dashboard.platform
  const vault = await call.create('/vaults', { name: 'webhooks' })
  const other = await call.create('/vaults', { name: 'other' })
  await call.create('/vault_secrets', { vault_id: other.id, name: 'elsewhere', value: 'x' })
  const { page, pageErrors } = await dashboard.open(t, `/vaults/${vault.id}`, { bypassCSP: true })
  await page.getByRole('button', { name: 'Add a secret' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('github')
  await dialog.getByLabel('Value').fill('swordfish')
  assert.equal(await dialog.getByLabel(/Vault/).count(), 0)
  await assertAccessibleEverywhere(page, 'vault-new-secret')
  await dialog.getByRole('button', { name: 'Add secret' }).click()
  const secrets = page.getByRole('table', { name: 'Secrets' })
  await secrets.getByRole('link', { name: 'github' }).waitFor()
  assert.equal(await secrets.getByText('elsewhere').count(), 0)
  await assertAccessibleEverywhere(page, 'vault')

  await page.getByRole('button', { name: 'Edit github' }).click()
  await dialog.getByLabel('Description').fill('signs webhooks')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await secrets.getByText('signs webhooks').waitFor()
  await page.getByRole('button', { name: 'Delete github' }).click()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No secrets yet').waitFor()

  await page.goto(`${dashboard.url}#/secrets/new`)
  await page.getByLabel('Vault', { exact: true }).waitFor()
  assert.equal(await page.getByLabel(/Vault/).count(), 1)
  await page.getByLabel('Name').fill('github')
  await page.getByLabel('Value').fill('swordfish')
  await page.getByLabel('Vault', { exact: true }).selectOption(String(other.id))
  await page.getByRole('button', { name: 'Create secret' }).click()
  await page.getByRole('heading', { name: 'github' }).waitFor()
  assert.deepEqual(pageErrors, [])
})

test('visitors who have signed in are listed, searched and signed out', async (t) => {
  const { platform } = dashboard
  const { url } = await createProtectedRoute(t, platform)
  const [desktop, phone, other] = [1, 2, 3].map(() => new CookieClient(platform)) as [
    CookieClient,
    CookieClient,
    CookieClient,
  ]
  for (const browser of [desktop, phone]) await signIn(browser, url)
  await signIn(other, url, 'grace')
  const statusOf = async (browser: CookieClient) => (await browser.once(url)).status
  const countSessions = async () =>
    (await platform.call('GET', '/app/sessions')).body.application_sessions.length
  await eventuallyEqual(countSessions, 3)

  const { page, pageErrors } = await dashboard.open(t, '/endpoints', { bypassCSP: true })
  await page.getByRole('link', { name: 'Application users' }).click()
  const users = page.getByRole('table', { name: 'Application users' })
  await users.getByRole('link', { name: 'ada@example.com' }).waitFor()
  await assertAccessibleEverywhere(page, 'application-users')
  assert.equal(await page.getByRole('link', { name: /^New / }).count(), 0)
  assert.equal(await readText(page.locator('.nav [aria-current]')), 'Endpoints')
  await page.getByLabel('Search application users').fill('ada@')
  await page.getByText('1 match').waitFor()
  await users.getByRole('link', { name: 'ada@example.com' }).click()

  const sessions = page.getByRole('table', { name: 'Sessions' })
  await sessions.getByText('127.0.0.1').nth(1).waitFor()
  assert.equal(await sessions.getByRole('button', { name: 'Revoke' }).count(), 2)
  await assertAccessibleEverywhere(page, 'application-user')
  await sessions.getByRole('button', { name: 'Revoke' }).first().click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByText('Revoked.').waitFor()
  await eventuallyEqual(async () => [await statusOf(desktop), await statusOf(phone)].sort(), [200, 302])
  await page.getByRole('button', { name: 'Sign out' }).last().click()
  await assertText(page.getByRole('dialog'), /ada@example.com is signed out in all browsers/)
  await page.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click()
  await page.getByText('Signed out.').waitFor()
  await eventuallyEqual(async () => [await statusOf(desktop), await statusOf(phone)], [302, 302])

  await page.getByRole('link', { name: 'Application sessions' }).click()
  const all = page.getByRole('table', { name: 'Application sessions' })
  await all.getByRole('link', { name: 'grace@example.com' }).waitFor()
  await assertAccessibleEverywhere(page, 'application-sessions')
  await all.getByRole('link', { name: url }).click()
  await page.getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByText('No application sessions yet').waitFor()
  await eventuallyEqual(() => statusOf(other), 302)
  assert.deepEqual(pageErrors, [])
})

/** The part of a DOM element that the next test reads: this file is type-checked without the DOM types. */
interface PageElement {
  readonly naturalWidth?: number
  readonly ownerDocument: {
    readonly defaultView: { getComputedStyle(element: PageElement): { readonly color: string } }
  }
}

test('an error page is previewed while it is written, with its styles and without its scripts', async (t) => {
  const { page, pageErrors, requestedOrigins } = await dashboard.open(t, '/error-pages/new')
  await page.getByLabel('Status', { exact: true }).fill('404')
  await page.getByLabel('HTML', { exact: true }).fill(
    `<style>h1 { color: rgb(1, 2, 3) }</style><h1>{{title}}</h1><p style="color: rgb(4, 5, 6)">{{status}} {{host}}</p>
<script>parent.location = 'https://attacker.example'</script><form action="/dashboard/api/session"><button>Go</button></form>
<img src="data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==">`,
  )
  const preview = page.frameLocator('iframe[title="Preview of the error page"]')
  const colorOf = (selector: string) =>
    preview
      .locator(selector)
      .evaluate((element: PageElement) => element.ownerDocument.defaultView.getComputedStyle(element).color)

  await preview.getByRole('heading', { name: 'This site is offline' }).waitFor()
  await eventuallyEqual(() => colorOf('h1'), 'rgb(1, 2, 3)')
  assert.equal(await colorOf('p'), 'rgb(4, 5, 6)')
  assert.equal(await preview.locator('p').textContent(), '404 shop.example.com')
  assert.equal(await preview.locator('img').evaluate((image: PageElement) => image.naturalWidth), 1)
  await page.getByRole('button', { name: 'Create error page' }).click()
  await page.getByRole('button', { name: 'Copy ID' }).waitFor()
  await eventuallyEqual(() => colorOf('h1'), 'rgb(1, 2, 3)')
  assert.deepEqual([...requestedOrigins], [new URL(dashboard.url).origin])
  const unexpected = pageErrors.filter(
    (text) => !/^(Applying inline style|Blocked script execution)/.test(text),
  )
  assert.deepEqual(unexpected, [])

  const saved = await dashboard.open(t, new URL(page.url()).hash.slice(1), { bypassCSP: true })
  await saved.page.getByRole('figure').scrollIntoViewIfNeeded()
  await assertAccessibleEverywhere(saved.page, 'error-page')
})
