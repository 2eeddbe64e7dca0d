import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { type PageEntry, readContents, START } from '../../scripts/docs/contents.ts'
import { startPlatform, type TestPlatform } from '../support/platform.ts'
import { openPage, startBrowser } from './browser.ts'
import { assertAccessibleEverywhere, assertFitsViewport, readText } from './inspected.ts'

const root = join(import.meta.dirname, '..', '..')
const cleanups: (() => unknown)[] = []
let browser: Browser
let platform: TestPlatform
let site: string
let pages: PageEntry[]

before(async () => {
  browser = await startBrowser('docs')
  platform = await startPlatform({ after: (cleanup: () => unknown) => cleanups.push(cleanup) } as never)
  site = platform.credentials.api_url
  const contents = readContents(await readFile(join(root, START), 'utf8'))
  pages = [
    { name: 'Documentation', file: START, url: '/docs/' },
    ...contents.flatMap((section) => section.pages),
  ]
})
after(async () => {
  await browser.close()
  for (const cleanup of cleanups.reverse()) await cleanup()
})

test('every document of docs/ is a page of the site', async () => {
  const listed = new Set(pages.map(({ file }) => file))
  const documents = await Array.fromAsync(glob('docs/**/*.md', { cwd: root }))

  assert.deepEqual(
    documents.filter((file) => !listed.has(file)),
    [],
    `add a line to ${START}`,
  )
  for (const { url, file } of pages) {
    const [, heading = ''] = /^# (.+)$/m.exec(await readFile(join(root, file), 'utf8')) ?? []
    const response = await fetch(site + url)
    assert.equal(response.status, 200, url)
    assert.match(await response.text(), new RegExp(`<h1 id="[^"]+">${heading.slice(0, 5)}`), url)
  }
})

test('every link of the site leads to a page and a heading that exist', async () => {
  const found = new Map<string, Set<string> | undefined>()
  const broken: string[] = []
  async function anchorsOf(path: string): Promise<Set<string> | undefined> {
    if (!found.has(path)) {
      const response = await fetch(site + path)
      const ids = (await response.text()).matchAll(/ id="([^"]+)"/g)
      found.set(path, response.ok ? new Set(Array.from(ids, ([, id]) => id!)) : undefined)
    }
    return found.get(path)
  }
  for (const { url } of pages) {
    const html = await (await fetch(site + url)).text()
    for (const [, target] of html.matchAll(/ (?:href|src|srcset)="([^"]+)"/g)) {
      if (/^[a-z]+:/.test(target!)) continue
      const { pathname, hash } = new URL(target!, site + url)
      const anchors = await anchorsOf(pathname)
      if (anchors === undefined || (hash !== '' && !anchors.has(decodeURIComponent(hash.slice(1)))))
        broken.push(`${url}: ${target}`)
    }
  }

  assert.deepEqual(broken, [])
  assert.ok(found.size > pages.length)
})

test('pages need no key, are revalidated, and nothing outside the site can be read', async () => {
  const page = await fetch(`${site}/docs/agent`)
  const etag = page.headers.get('etag')!
  const again = await fetch(`${site}/docs/agent`, { headers: { 'if-none-match': etag } })
  const statuses = await Promise.all(
    ['none', '..%2f..%2fpackage.json', 'assets/..%2findex.html', '.html', 'guides/', 'agent%00'].map(
      async (path) => (await fetch(`${site}/docs/${path}`)).status,
    ),
  )

  assert.match(page.headers.get('content-security-policy')!, /default-src 'none'; script-src 'self';/)
  assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
  assert.deepEqual([again.status, await again.text()], [304, ''])
  assert.deepEqual(
    statuses.filter((status) => status < 400),
    [],
  )
  assert.equal((await fetch(`${site}/docs`, { redirect: 'manual' })).headers.get('location'), '/docs/')
})

test('an address without a page says so on a page with the search', async () => {
  const response = await fetch(`${site}/docs/guides/nothing`)
  const html = await response.text()

  assert.deepEqual([response.status, response.headers.get('content-type')], [404, 'text/html; charset=utf-8'])
  assert.match(html, /<h1>Page not found<\/h1>.*href="\/docs\/"/s)
  assert.match(html, /id="adit-search"/)
})

test('the search finds words, headings and error codes by keyboard alone, and asks only this server', async (t) => {
  const { page, pageErrors, requestedOrigins } = await openPage(t, browser, `${site}/docs/`)
  const results = page.locator('#adit-results a')
  const field = page.getByRole('searchbox', { name: 'Search the documentation' })

  await page.keyboard.press('/')
  await field.fill('circuit breaker')
  await page.getByText(/^\d+ matches$/).waitFor()
  const matches = await readText(results)
  await field.fill('qqqq')
  await page.getByText('No matches').waitFor()
  await field.fill('blue-green weights')
  await results.first().getByText('Release blue-green').waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/docs\/guides\/blue-green(?:#|$)/)
  await page.keyboard.press('Control+k')
  await field.fill('ERR_ADIT_3200')
  await results.first().getByText('Errors › ERR_ADIT_3200').waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'ERR_ADIT_3200' }).waitFor()

  assert.match(matches, /^Modules/m)
  assert.equal(await page.title(), 'ERR_ADIT_3200 · Adit')
  assert.deepEqual([...requestedOrigins], [new URL(site).origin])
  assert.deepEqual(pageErrors, [])
})

test('a search that cannot be loaded says so, and the next word tries again', async (t) => {
  const { page } = await openPage(t, browser, `${site}/docs/`)
  await page.route('**/search.json', (route) => route.fulfill({ status: 503 }))

  await page.getByRole('button', { name: /^Search/ }).click()
  await page.getByText('The search could not be loaded: the server responded with 503').waitFor()
  await page.unrouteAll()
  await page.getByRole('searchbox').fill('webhooks')

  await page.getByText(/^\d+ matches$/).waitFor()
})

test('code is copied, the theme of the dashboard applies, and a phone opens the contents', async (t) => {
  const { page, pageErrors } = await openPage(t, browser, `${site}/docs/guides/webhooks`, {
    viewport: { width: 360, height: 740 },
    permissions: ['clipboard-read', 'clipboard-write'],
    colorScheme: 'light',
  })
  const background = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor')

  await page.getByRole('button', { name: 'Copy' }).nth(1).click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  const light = await background()
  await page.getByLabel('Theme').selectOption('dark')
  const dark = await background()
  await page.reload()
  await page.getByRole('button', { name: 'Menu' }).click()
  await assertFitsViewport(page, 'docs-menu-narrow')
  await page.getByRole('link', { name: 'Custom domain' }).click()
  await page.waitForURL('**/docs/guides/custom-domain')

  assert.equal(await page.evaluate('navigator.clipboard.readText()'), 'node hook.mjs')
  assert.notEqual(dark, light)
  assert.equal(await background(), dark)
  assert.equal(await page.evaluate("localStorage.getItem('adit.theme')"), 'dark')
  assert.deepEqual(pageErrors, [])
})

test('axe finds nothing, and no page is wider than a phone', async (t) => {
  const { page, pageErrors, requestedOrigins } = await openPage(t, browser, `${site}/docs/`, {
    bypassCSP: true,
  })

  await assertAccessibleEverywhere(page, 'docs-start')
  // All other pages: test/long/guides/site.test.ts.
  for (const url of [
    '/docs/errors/ERR_ADIT_3200',
    '/docs/guides/webhooks',
    '/docs/traffic-policy-reference',
  ]) {
    await page.goto(site + url)
    await assertAccessibleEverywhere(page, `docs${url.replaceAll('/', '-')}`)
  }
  await page.getByRole('button', { name: /^Search/ }).click()
  await page.getByRole('searchbox').fill('edge')
  await page.getByText(/^\d+ matches$/).waitFor()
  await assertAccessibleEverywhere(page, 'docs-search')
  await page.setViewportSize({ width: 360, height: 740 })
  for (const { url } of pages) {
    await page.goto(site + url)
    const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
    assert.ok(overflow <= 0, `${url} is ${overflow} px too wide`)
  }

  assert.deepEqual([...requestedOrigins], [new URL(site).origin])
  assert.deepEqual(pageErrors, [])
})
