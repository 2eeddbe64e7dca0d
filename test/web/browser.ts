import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

const root = join(import.meta.dirname, '..', '..')

/** Where screenshots go; git ignores it. */
export const ARTEFACTS = join(root, 'test-artefacts')

/** Debian's Chromium, talking to nobody by itself. A page is built first, should it be older than its sources. */
export async function startBrowser(page: 'inspector' | 'dashboard'): Promise<Browser> {
  await promisify(execFile)(process.execPath, [join(root, 'scripts', 'build-pages.ts'), page])
  await mkdir(ARTEFACTS, { recursive: true })
  return chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}

/** A page of its own, with everything that went wrong on it, and every address it asked. */
export async function openPage(
  t: TestContext,
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; wrong: string[]; asked: Set<string> }> {
  const context = await browser.newContext(options)
  t.after(() => context.close())
  const page = await context.newPage()
  page.setDefaultTimeout(20_000)
  const wrong: string[] = []
  const asked = new Set<string>()
  page.on('pageerror', (error) => wrong.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') wrong.push(message.text())
  })
  page.on('dialog', (dialog) => {
    wrong.push(`a dialog said: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => asked.add(new URL(request.url()).origin))
  await page.goto(url)
  return { page, wrong, asked }
}
