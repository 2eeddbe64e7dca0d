import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { startHttpService, startWithApi } from '../../src/agent/testing/local-api.ts'
import { ARTEFACTS } from './browser.ts'

/** An agent with one tunnel to a service that answers what the path asks for. */
export async function startInspected(t: TestContext) {
  const api = await startWithApi(t)
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

/** A query that makes the service answer with this body. */
export const answering = (body: string | Buffer, type: string, more = '') =>
  `body=${Buffer.from(body).toString('base64url')}&type=${encodeURIComponent(type)}${more}`

/** Every row of the list in the page. */
export const rows = (page: Page) => page.getByRole('option')
/** The rows with this text in them. */
export const row = (page: Page, text: string) => rows(page).filter({ hasText: text })
/** What is shown of one side. */
export const panel = (page: Page, side: 'request' | 'response') => page.locator(`[data-side=${side}]`)

/** What a person reads there, once it is there. */
export async function shown(place: Locator): Promise<string> {
  await place.first().waitFor()
  return (await place.allInnerTexts()).join('\n')
}

/** Opens a tab of one side. */
export async function pickTab(page: Page, side: 'Request' | 'Response', tab: string): Promise<void> {
  await page.getByRole('tablist', { name: side }).getByRole('tab', { name: tab }).click()
}

/** Takes a picture for people to look at; nothing may be wider than the screen. */
export async function pictured(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(ARTEFACTS, `${name}.png`) })
  const wider = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
  assert.ok(wider <= 0, `${name} is ${wider} px too wide`)
}

/** The same, and axe finds nothing serious. The page must have been opened with `bypassCSP`. */
export async function checked(page: Page, name: string): Promise<void> {
  await pictured(page, name)
  const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
  const found = await page.evaluate(`${axe}; axe.run()`)
  const { violations } = found as {
    violations: { id: string; impact: string; nodes: { html: string }[] }[]
  }
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  assert.deepEqual(
    serious.map(({ id, nodes }) => `${name}: ${id}: ${nodes[0]?.html}`),
    [],
  )
}
