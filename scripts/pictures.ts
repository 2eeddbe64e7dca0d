// Takes the pictures of README.md and docs/ from the running product, in both themes:
//   npm run pictures
import { mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { eventually } from '../test/support/eventually.ts'
import { findFreePorts } from '../test/support/free-ports.ts'
import { openTerminal } from '../test/support/terminal.ts'
import { launchChromium } from '../test/web/browser.ts'
import { signInWithKey } from '../test/web/dashboard.ts'
import { startSamplePlatform, startWebhookService } from './pictures/sample-platform.ts'
import { terminalPage } from './pictures/terminal-page.ts'

const root = join(import.meta.dirname, '..')
const directory = join(root, 'docs', 'images')
const MAX_BYTES = 300_000
/** What users see; the ports here are those that were free. */
const [LOCAL_PORT, WEB_PORT] = [3000, 4040]

const cleanups: (() => unknown)[] = []
const t = { after: (cleanup: () => unknown) => cleanups.push(cleanup) } as unknown as TestContext
try {
  await mkdir(directory, { recursive: true })
  await takePictures()
} finally {
  for (const cleanup of cleanups.reverse()) await cleanup()
}

async function takePictures(): Promise<void> {
  const browser = await launchChromium()
  t.after(() => browser.close())
  const sample = await startSamplePlatform(t)
  const host = `hooks.${sample.domain}`
  const localPort = await startWebhookService(t)
  const webPort = await findFreePorts(1)
  const command = `adit http ${LOCAL_PORT} --url https://${host}`
  const script = `'${join(root, 'bin', 'adit')}' http ${localPort} --url https://${host} --web-addr=127.0.0.1:${webPort}`
  const terminal = openTerminal(t, { script, columns: 92, rows: 22, env: sample.env })
  await eventually(() => terminal.text().includes(`https://${host}`), terminal.text)
  const payment = JSON.stringify({ id: 'evt_1042', type: 'payment.succeeded', amount: 4200, currency: 'eur' })
  await sample.visit(host, '/health')
  await sample.visit(host, '/payments', { method: 'POST', body: payment })
  await sample.visit(host, '/favicon.ico')
  await sample.visit(host, '/payments/refunds', {
    method: 'POST',
    body: payment.replace('succeeded', 'refunded'),
  })
  await sample.visit(host, '/payments?page=2')
  await eventually(() => terminal.text().includes('page=2'), terminal.text)
  for (let visits = 0; visits < 20; visits++) await sample.visit(sample.shop, '/')
  const screen = terminal
    .styledText()
    .replaceAll(`:${localPort}`, `:${LOCAL_PORT}`)
    .replaceAll(`127.0.0.1:${webPort}`, `127.0.0.1:${WEB_PORT}`)

  const page = await browser.newPage({ viewport: { width: 1240, height: 640 }, deviceScaleFactor: 1.5 })
  await page.setContent(terminalPage(command, screen))
  await takeBoth(page, 'terminal', page.locator('body'))

  await page.goto(`http://127.0.0.1:${webPort}/inspect/http`)
  await page.getByRole('option').filter({ hasText: '/payments' }).last().click()
  await takeBoth(page, 'inspector')

  const { api_url, api_key } = sample.platform.credentials
  await page.goto(`${api_url}/dashboard/`)
  await signInWithKey(page, api_key)
  await page.evaluate(`location.hash = '/edges/${sample.edge.id}'`)
  await page.locator('.flow-tunnel').nth(1).waitFor()
  await takeBoth(page, 'edge')
}

/** Takes a picture of the page, or a part of it, in the light and the dark theme. */
async function takeBoth(page: Page, name: string, part?: Locator): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    const path = join(directory, `${name}-${colorScheme}.png`)
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await (part ?? page).screenshot({ path, animations: 'disabled' })
    const { size } = await stat(path)
    if (size > MAX_BYTES)
      throw new Error(`${path} has ${size} bytes; at most ${MAX_BYTES} belong in the repository`)
    process.stderr.write(`pictures: ${name}, ${colorScheme}: ${Math.round(size / 1000)} KB\n`)
  }
}
