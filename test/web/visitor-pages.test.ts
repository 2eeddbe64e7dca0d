import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { EdgeError, edgeError } from '../../src/edge/errors.ts'
import { type EdgeResponse, renderError } from '../../src/edge/response/response.ts'
import { startHttp } from '../support/local-server.ts'
import { openPage } from './browser.ts'
import { startDashboard, type TestDashboard } from './dashboard.ts'
import { assertAccessibleEverywhere, assertFitsViewport, assertText } from './inspected.ts'

const LONG_HOST = `${'a-very-long-label-of-sixty-three-characters-without-any-space.'.repeat(4)}example.com`
const TEXTS = {
  long: `No backend of ${LONG_HOST} is online.`,
  rtl: 'الخدمة خلف هذا الاسم غير متصلة الآن: متجر.مثال — حاول مرة أخرى لاحقًا.',
  cjk: 'このサイトのバックエンドは現在オフラインです。しばらくしてからもう一度お試しください。'.repeat(3),
}
let dashboard: TestDashboard
before(async () => {
  dashboard = await startDashboard()
})
after(() => dashboard.stop())

/** Serves each path with one response of the edge. */
async function serveResponses(
  t: TestContext,
  responses: Readonly<Record<string, EdgeResponse>>,
): Promise<string> {
  const port = await startHttp(t, (request, response) => {
    const { status, fields, body } = responses[request.url!.slice(1)] ?? { status: 204, fields: '', body: '' }
    response.writeHead(
      status,
      fields
        .split('\r\n')
        .filter((line) => line !== '')
        .flatMap((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
    )
    response.end(body)
  })
  return `http://127.0.0.1:${port}`
}

test('error pages for visitors are accessible, and fit with long, right-to-left and CJK text', async (t) => {
  const errors = {
    offline: edgeError('no_backend', 'shop.example.com'),
    denied: edgeError('login_denied', 'ada@example.com is not on the list'),
    ...Object.fromEntries(
      Object.entries(TEXTS).map(([name, text]) => [name, new EdgeError('no_backend', text)]),
    ),
  }
  const origin = await serveResponses(
    t,
    Object.fromEntries(
      Object.entries(errors).map(([name, error]) => [name, renderError(error, 'text/html')]),
    ),
  )
  const { page } = await openPage(t, dashboard.browser, `${origin}/offline`, {
    bypassCSP: true,
    viewport: { width: 1400, height: 900 },
  })

  for (const name of ['offline', 'denied']) {
    await page.goto(`${origin}/${name}`)
    await assertAccessibleEverywhere(page, `visitor-${name}`)
  }
  for (const name of Object.keys(TEXTS))
    for (const width of [1400, 360]) {
      await page.setViewportSize({ width, height: 900 })
      await page.goto(`${origin}/${name}`)
      await assertFitsViewport(page, `visitor-${name}-${width}`)
    }
})

test('an account replaces its error pages in the dashboard, and scripts in them do not run', async (t) => {
  const { platform, browser } = dashboard
  await platform.call.create('/reserved_domains', { domain: 'closed.adit.localhost' })
  const { page, pageErrors } = await dashboard.open(t, '/error-pages', {
    bypassCSP: true,
    viewport: { width: 1400, height: 900 },
  })
  const html =
    '<!doctype html><html lang="en"><title>{{title}}</title><style>h1{color:rgb(1, 2, 3)}</style>' +
    '<h1>Our shop opens at nine</h1><p>{{host}}: {{next_step}}</p>' +
    '<script>document.title = "script ran"</script><img src="/pixel.png" onerror="document.title = 1">'

  await page.getByRole('link', { name: 'New error page' }).first().click()
  await page.getByLabel('Status').fill('404')
  await page.getByLabel('HTML').fill('{{nothing}}')
  await page.getByRole('button', { name: /^Create/ }).click()
  await page
    .getByText(/unknown placeholder \{\{nothing\}\}/)
    .first()
    .waitFor()
  await page.getByLabel('HTML').fill(html)
  await assertAccessibleEverywhere(page, 'dashboard-error-page-form')
  await page.getByRole('button', { name: /^Create/ }).click()
  await page.waitForURL(/\/error-pages\/errp_/)
  await page.getByText('Our shop opens at nine').first().waitFor()
  await assertAccessibleEverywhere(page, 'dashboard-error-page')

  const visitor = await browser.newPage({ ignoreHTTPSErrors: true })
  t.after(() => visitor.close())
  await visitor.goto(`https://closed.adit.localhost:${new URL(platform.credentials.https_url).port}/`)
  await visitor.getByRole('heading', { name: 'Our shop opens at nine' }).waitFor()
  await assertFitsViewport(visitor, 'visitor-custom')
  assert.equal(await visitor.title(), 'Nothing is online at this address')
  await assertText(visitor.locator('p'), /^closed\.adit\.localhost: Check the address/)
  const color = await visitor.evaluate('getComputedStyle(document.querySelector("h1")).color')
  assert.equal(color, 'rgb(1, 2, 3)')
  // The rejected page, and what the preview blocks or does not find.
  const expected = /status of 40[04]|Blocked script execution in 'about:srcdoc'/
  assert.deepEqual(
    pageErrors.filter((text) => !expected.test(text)),
    [],
  )
})
