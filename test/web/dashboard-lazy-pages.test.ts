import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { waitInPage } from './browser.ts'
import { goTo, startDashboard, type TestDashboard } from './dashboard.ts'

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
