import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { startHttp } from '../support/local-server.ts'
import { ARTEFACTS, SCREENSHOTS } from './browser.ts'
import { goToLoaded, startDashboard, type TestDashboard } from './dashboard.ts'
import { createEveryPage } from './every-page.ts'
import { startAgent } from './served.ts'

// A dynamic import: this file is type-checked without the DOM types that the module's imports need.
const load = (name: string) => import(new URL(`../../src/web/dashboard/${name}.ts`, import.meta.url).href)
const { resourcePages } = (await load('resources')) as {
  resourcePages: readonly { path: string; route: string }[]
}
const { pages } = (await load('pages')) as { pages: readonly { path: string }[] }

const WIDTHS = [360, 1400]

/**
 * Finds texts that leave their box, and words that are broken inside. Long tokens without a place to break may be broken, and
 * scripts without spaces are broken anywhere.
 */
const FIND_FAULTS = `(() => {
  const faults = []
  const describe = (element) =>
    element.tagName.toLowerCase() + '.' + element.className + ': ' + element.textContent.trim().slice(0, 40)
  // The head of a table is clipped to one pixel where rows are cards.
  const isClipped = (element) => (element.closest('thead')?.clientWidth ?? 2) < 2
  const scrolls = (element) => element.closest('.scrolls, pre, textarea, select, svg, .hidden, .flow') !== null || isClipped(element)
  if (document.documentElement.scrollWidth > innerWidth) faults.push('the page scrolls sideways')
  for (const element of document.querySelectorAll('main *, .side *')) {
    if (element.clientWidth === 0 || scrolls(element) || element.tagName === 'INPUT') continue
    if (element.scrollWidth > element.clientWidth + 1) faults.push('overflow in ' + describe(element))
  }
  const walker = document.createTreeWalker(document.querySelector('.shell'), NodeFilter.SHOW_TEXT)
  const range = document.createRange()
  while (walker.nextNode()) {
    const node = walker.currentNode
    if (node.parentElement.checkVisibility() === false || node.parentElement.closest('.hidden, code, pre') || isClipped(node.parentElement)) continue
    for (const { index, 0: word } of node.data.matchAll(/(?<![^\\s(])[\\p{Script=Latin}\\p{Script=Arabic}\\p{Script=Hebrew}]{2,22}(?![^\\s.,:;)])/gu)) {
      range.setStart(node, index)
      range.setEnd(node, index + word.length)
      const lines = new Set([...range.getClientRects()].filter(({ width }) => width > 0).map(({ top }) => Math.round(top)))
      if (lines.size > 1) faults.push('broken word ' + word + ' in ' + describe(node.parentElement))
    }
  }
  return [...new Set(faults)]
})()`

let dashboard: TestDashboard
before(async () => {
  dashboard = await startDashboard()
})
after(() => dashboard.stop())

async function takeScreenshots(page: Page, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await page.screenshot({ path: join(ARTEFACTS, 'pages', `${name}-${colorScheme}.png`), fullPage: true })
  }
}

test('long, right-to-left and CJK texts stay in their boxes on every page, on a phone and on a desktop', async (t) => {
  const paths = await createEveryPage(dashboard, pages, resourcePages)
  const port = await startHttp(t, (_, response) => response.end('hello'))
  const agent = await startAgent(t, dashboard.platform, 'بيانات الوكيل 日本語のメタデータ')
  await agent.forward({ addr: port })
  const { page } = await dashboard.open(t, '/agents', { bypassCSP: true })
  const agentPath = await page.locator('main tbody th a').first().getAttribute('href')
  const faults: string[] = []

  const queue = [...paths, agentPath!.slice(1)].values()
  const lookThrough = async (page: Page) => {
    for (const path of queue) {
      await goToLoaded(page, path)
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 })
        for (const fault of await page.evaluate<string[]>(FIND_FAULTS))
          faults.push(`${path} at ${width}: ${fault}`)
        const name = path
          .slice(1)
          .replace(/_[0-9A-Za-z]{20,}/, '')
          .replaceAll('/', '-')
        if (SCREENSHOTS) await takeScreenshots(page, `${name}-${width}`)
      }
    }
  }
  const another = await dashboard.open(t, '/agents', { bypassCSP: true })

  await Promise.all([page, another.page].map(lookThrough))

  assert.ok(paths.length > 50, String(paths.length))
  assert.deepEqual(faults, [])
})
