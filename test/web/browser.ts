import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { TIMEOUT_MS } from '../support/eventually.ts'

const root = join(import.meta.dirname, '..', '..')

/** The directory for screenshots; git ignores it. */
export const ARTEFACTS = join(root, 'test-artefacts')

/** With `SCREENSHOTS=1`, tests also take screenshots of the pages that they look at. */
export const SCREENSHOTS: boolean = process.env.SCREENSHOTS === '1'

/** Builds a page if it is older than its sources, and starts a browser for it. */
export async function startBrowser(page: 'inspector' | 'dashboard' | 'docs'): Promise<Browser> {
  await promisify(execFile)(process.execPath, [join(root, 'scripts', 'build-pages.ts'), page])
  return launchChromium()
}

/**
 * Starts Debian's Chromium without background traffic. The headless shell runs the same engine as the desktop browser
 * without its user interface, for a third of the CPU time.
 */
export async function launchChromium(args: readonly string[] = []): Promise<Browser> {
  await mkdir(ARTEFACTS, { recursive: true })
  return chromium.launch({
    executablePath: '/usr/bin/chromium-headless-shell',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...args,
    ],
  })
}

/** Opens a page in its own context, and records its errors and the origins it requests. */
export async function openPage(
  t: TestContext,
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; pageErrors: string[]; requestedOrigins: Set<string> }> {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const changes: string[] = []
  page.on('response', (response) => {
    const method = response.request().method()
    if (method !== 'GET') changes.push(`${method} ${new URL(response.url()).pathname}: ${response.status()}`)
  })
  t.after(async () => {
    if (!t.passed) t.diagnostic(await describePage(page, changes))
    await context.close()
  })
  page.setDefaultTimeout(TIMEOUT_MS)
  const pageErrors: string[] = []
  const requestedOrigins = new Set<string>()
  page.on('pageerror', (error) => pageErrors.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') pageErrors.push(message.text())
  })
  page.on('dialog', (dialog) => {
    pageErrors.push(`unexpected dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => requestedOrigins.add(new URL(request.url()).origin))
  await page.goto(url)
  return { page, pageErrors, requestedOrigins }
}

/** What a page showed and had done when its test failed. */
async function describePage(page: Page, changes: readonly string[]): Promise<string> {
  const texts = await page.locator('main, dialog').allInnerTexts().catch(String)
  return [
    page.url(),
    ...changes.slice(-10),
    String(texts)
      .replace(/\n\s*\n/g, '\n')
      .slice(0, 4000),
  ].join('\n')
}

/**
 * Waits until an expression is true in the page. It is evaluated in every frame, where a locator pauses for up to half a second
 * between two looks at the page.
 */
export async function waitInPage(page: Page, expression: string): Promise<void> {
  const isTrue = await page.evaluate<boolean>(`new Promise((done) => {
    const deadline = performance.now() + ${TIMEOUT_MS}
    const look = () => {
      if (${expression}) done(true)
      else if (performance.now() > deadline) done(false)
      else requestAnimationFrame(look)
    }
    look()
  })`)
  assert.ok(isTrue, `${page.url()}: ${expression}`)
}
