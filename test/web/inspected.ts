import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { inspect } from 'node:util'
import type { Locator, Page } from 'playwright-core'
import { startAgentWithApi, startHttpService } from '../../src/agent/testing/local-api.ts'
import { eventually } from '../support/eventually.ts'
import { ARTEFACTS, SCREENSHOTS } from './browser.ts'

/** Starts an agent with one tunnel to a service whose response is defined by the query string. */
export async function startInspectedAgent(t: TestContext) {
  const api = await startAgentWithApi(t)
  const addr = await startHttpService(t, (request, response) => {
    const url = new URL(request.url ?? '/', 'http://local')
    const body = Buffer.from(url.searchParams.get('body') ?? 'hello', 'base64url')
    const encoding = url.searchParams.get('encoding')
    if (encoding) response.setHeader('Content-Encoding', encoding)
    response.setHeader('Content-Type', url.searchParams.get('type') ?? 'text/plain')
    response.statusCode = Number(url.searchParams.get('status') ?? 200)
    request.resume()
    request.on('end', () => response.end(body))
  })
  const { json } = await api.post('/api/tunnels', { name: 'web', proto: 'http', addr: Number(addr) })
  const url = String(json.public_url)
  const visit = (path: string, options: { method?: string; headers?: string; body?: string } = {}) => {
    const { method = 'GET', headers = '', body = '' } = options
    const length = body === '' ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`
    return api.gateway.request(
      url,
      `${method} ${path} HTTP/1.1\r\nHost: n.test\r\n${length}${headers}\r\n${body}`,
    )
  }
  return { ...api, visit, addr, inspector: `${api.api.url}/inspect/http` }
}

/** A query string that makes the service respond with this body. */
export const responseQuery = (body: string | Buffer, type: string, more = '') =>
  `body=${Buffer.from(body).toString('base64url')}&type=${encodeURIComponent(type)}${more}`

/** All rows of the list. */
export const rows = (page: Page) => page.getByRole('option')
/** The rows that contain a text. */
export const row = (page: Page, text: string) => rows(page).filter({ hasText: text })
/** The panel of the request or the response. */
export const panel = (page: Page, side: 'request' | 'response') => page.locator(`[data-side=${side}]`)

/** The visible text of a locator, once present. */
export async function readText(locator: Locator): Promise<string> {
  await locator.first().waitFor()
  return (await locator.allInnerTexts()).join('\n')
}

/** The shell commands for what a page or dialog is about to do; `adit api` is known once the OpenAPI document has come. */
export async function readEquivalents(within: Page | Locator): Promise<string> {
  await within.getByRole('region', { name: 'The same with adit api' }).waitFor()
  return readText(within.locator('.equivalent pre'))
}

/** Resolves once the visible text of a locator matches: a page that is told of changes shows them a moment later. */
export async function assertText(locator: Locator, pattern: RegExp): Promise<void> {
  let text = ''
  const matches = async () => {
    text = await readText(locator)
    return pattern.test(text)
  }
  await eventually(matches, () => `${pattern} matches the visible text, was ${inspect(text)}`)
}

/** Opens a tab of the request or the response. */
export async function pickTab(page: Page, side: 'Request' | 'Response', tab: string): Promise<void> {
  await page.getByRole('tablist', { name: side }).getByRole('tab', { name: tab }).click()
}

/**
 * Resolves once the page has loaded its data, has ended its transitions, and has had a frame to respond to a
 * new size or theme: what fades in has too little contrast until then.
 */
async function settle(page: Page): Promise<void> {
  await page.waitForFunction(`
    document.querySelector('.loading') === null &&
    document.getAnimations().every(({ effect, playState }) =>
      playState !== 'running' || effect.getComputedTiming().iterations === Infinity)`)
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done)))')
}

/** Asserts that the page does not overflow horizontally. */
export async function assertFitsViewport(page: Page, name: string): Promise<void> {
  await settle(page)
  if (SCREENSHOTS) await page.screenshot({ path: join(ARTEFACTS, `${name}.png`) })
  const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
  assert.ok(overflow <= 0, `${name} is ${overflow} px too wide`)
}

/** Also asserts that axe finds no serious violation. The page must be opened with `bypassCSP`. */
export async function assertAccessible(page: Page, name: string, rules?: readonly string[]): Promise<void> {
  await assertFitsViewport(page, name)
  if (!(await page.evaluate<boolean>("'axe' in window"))) {
    const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
    await page.evaluate(await readFile(axe, 'utf8'))
  }
  const runOnly = rules === undefined ? {} : { runOnly: { type: 'rule', values: rules } }
  // A description of every element that passes would double the time.
  const options = { ...runOnly, resultTypes: ['violations'] }
  const result = await page.evaluate(`axe.run(${JSON.stringify(options)})`)
  const { violations } = result as {
    violations: { id: string; impact: string; nodes: { html: string }[] }[]
  }
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  assert.deepEqual(
    serious.map(({ id, nodes }) => `${name}: ${id}: ${nodes[0]?.html}`),
    [],
  )
}

/** The same in both themes. Only colours depend on the theme. */
export async function assertAccessibleInBothThemes(page: Page, name: string): Promise<void> {
  await page.emulateMedia({ colorScheme: 'light' })
  await assertAccessible(page, `${name}-light`)
  await page.emulateMedia({ colorScheme: 'dark' })
  await assertAccessible(page, `${name}-dark`, ['color-contrast'])
  await page.emulateMedia({ colorScheme: 'light' })
}

/** The same in both themes and on a phone. */
export async function assertAccessibleEverywhere(page: Page, name: string): Promise<void> {
  const desktop = page.viewportSize()!
  await assertAccessibleInBothThemes(page, name)
  await page.setViewportSize({ width: 360, height: 740 })
  await assertAccessible(page, `${name}-narrow`)
  await page.setViewportSize(desktop)
}
