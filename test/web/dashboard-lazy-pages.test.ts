import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openPage, waitInPage } from './browser.ts'
import { goTo, signInWithKey, startDashboard, type TestDashboard } from './dashboard.ts'

// A dynamic import: this file is type-checked without the DOM types that the module's imports need.
const pagesUrl = new URL('../../src/web/dashboard/pages.ts', import.meta.url)
const { pages } = (await import(pagesUrl.href)) as { pages: readonly { path: string }[] }

/** The files of a page, and what it asks to find out whether the server responds again. */
const ABORTED = ['**/assets/*', '**/dashboard/api/session']
const PARALLEL_PAGES = 6
const HEADING = "document.querySelector('main h1')?.textContent"

let dashboard: TestDashboard
before(async () => {
  dashboard = await startDashboard()
})
after(() => dashboard.stop())

test('every page whose style or script was not loaded continues once the server responds', async (t) => {
  const addresses = pages.map(({ path }) => path).filter((path) => !path.includes(':') && path !== '/account')
  const reasons: string[] = []
  const walk = async () => {
    const { page } = await dashboard.open(t, '/account')
    page.on('requestfailed', (request) => reasons.push(request.url()))
    for (let address = addresses.pop(); address !== undefined; address = addresses.pop()) {
      for (const pattern of ABORTED) await page.route(pattern, (route) => route.abort('connectionrefused'))
      await goTo(page, address)
      // A page that shares its files with one that was open before is there at once.
      await waitInPage(
        page,
        `${HEADING} === 'Waiting for the server' || !document.querySelector('main .loading')`,
      )
      await page.unrouteAll({ behavior: 'ignoreErrors' })
      // Playwright waits through the reload of the page.
      const heading = page.locator('main h1', { hasNotText: 'Waiting for the server' }).first()
      assert.notEqual(await heading.textContent(), 'Page error', address)
    }
  }
  await dashboard.open(t, '/account')

  await Promise.all(Array.from({ length: PARALLEL_PAGES }, walk))

  for (const type of ['.css', '.js'])
    assert.ok(
      reasons.some((url) => url.endsWith(type)),
      `a file that ends in ${type} was missing`,
    )
})

test('pages whose document of roles was not loaded continue once the server responds', async (t) => {
  const { call } = dashboard.platform
  const { id: owner_id } = await call.create('/users', { email: 'away@example.com', role: 'developer' })
  const { token } = await call.create('/api_keys', { owner_id })
  const { page } = await openPage(t, dashboard.browser, dashboard.url)
  await signInWithKey(page, token)
  await page.route('**/openapi.json', (route) => route.abort('connectionrefused'))

  await goTo(page, '/domains/new')
  await page.getByText('The server is not responding').waitFor()
  await page.unroute('**/openapi.json')

  await page.getByRole('heading', { name: 'New domain' }).waitFor()
})
